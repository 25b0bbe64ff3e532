"""A module for each program or family of programs. A method that a class lacks is a feature that the program does not have."""

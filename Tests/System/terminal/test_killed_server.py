"""chatter while its server is killed and started again. Run by script/test terminal."""


from terminal.chatter_test_case import ChatterTestCase


class KilledServerTests(ChatterTestCase):
    def test_answer_in_a_conversation_is_generated_again(self):
        self.says_then_waits(["Half an"], [" answer."])
        terminal = self.open()
        terminal.expect("> ")
        terminal.enter("Speak.")
        terminal.expect("Half an")
        self.server.kill()
        terminal.expect("connection lost; resuming")
        self.says("A whole answer.")
        self.proceed.set()
        self.server.restart()
        terminal.expect("connection restored")
        terminal.expect("the answer begins again")
        terminal.expect("A whole answer.\n> ")
        terminal.send("\x04")
        self.assertEqual(terminal.status(), 0)
        self.assertEqual(self.texts("assistant"), ["A whole answer."])

    def test_answer_in_a_pipe_is_reported_as_interrupted(self):
        self.says_then_waits(["Half an"])
        command = self.start_command("ask", "Speak.")
        self.assertEqual(command.stdout.read(7), "Half an")
        self.server.kill()
        self.assertIn("connection lost; resuming", command.stderr.readline())
        self.server.restart()
        output, errors = command.communicate()
        self.assertEqual(command.returncode, 6, errors)
        self.assertEqual(output, "\n")
        self.assertEqual(self.messages()[-1]["state"], "interrupted")

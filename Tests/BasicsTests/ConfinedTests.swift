import ChatterdBasics
import Testing

/// A confinement that is current or not, as the test sets it.
private struct FixedConfinement: Confinement {
    let isCurrent: Bool

    func preconditionCurrent() {
        precondition(isCurrent)
    }
}

@Suite(.timeLimit(.minutes(30))) struct ConfinedTests {
    @Test func valueIsReadInItsConfinement() {
        #expect(Confined(7, to: FixedConfinement(isCurrent: true)).value == 7)
    }

    #if DEBUG
        @Test func useFromOutsideStopsADebugBuild() async {
            await #expect(processExitsWith: .failure) {
                _ = Confined(7, to: FixedConfinement(isCurrent: false)).value
            }
        }
    #endif
}

/// How a process ended, and what it had said by then.
package struct ProcessOutcome: Sendable, CustomStringConvertible {
  package enum Ending: Equatable, Sendable {
    case exit(Int32)
    /// It crashed: 4 or 5 is a trap, 6 an abort, 7 and 11 a bad access.
    case signal(Int32)
    /// It had to be killed.
    case hung

    /// What it returned; `nil` if something else ended it.
    package var status: Int32? {
      if case .exit(let status) = self { status } else { nil }
    }
  }

  package let ending: Ending
  /// A line for each command it was done with.
  package let answers: [String]

  /// Neither a crash nor a hang.
  package var isOrderly: Bool { ending == .exit(0) }

  package var description: String { "\(ending) after \(answers)" }
}

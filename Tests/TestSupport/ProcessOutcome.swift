/// How a process ended, and its output until then.
package struct ProcessOutcome: Sendable, CustomStringConvertible {
  package enum Ending: Equatable, Sendable {
    case exit(Int32)
    /// It crashed: 4 or 5 is a trap, 6 an abort, 7 and 11 a bad access.
    case signal(Int32)
    /// It was killed after its time limit.
    case hung

    /// The exit status, or `nil` if it ended otherwise.
    package var status: Int32? {
      if case .exit(let status) = self { status } else { nil }
    }
  }

  package let ending: Ending
  /// One line per completed command.
  package let answers: [String]

  package var isOrderly: Bool { ending == .exit(0) }

  package var description: String { "\(ending) after \(answers)" }
}

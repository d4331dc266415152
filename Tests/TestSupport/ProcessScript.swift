/// Commands for another process, and the expected answers.
package struct ProcessScript: Sendable {
  package enum Answer: Sendable {
    case ok
    case text(String)
    case oneOf([String])
    /// A number of 0 or more.
    case natural
    case noError
    /// Success, or one of these errors; after an error later answers are ignored.
    case okUnlessRefused([String])
    case anything

    fileprivate func accepts(_ answer: String) -> Bool {
      switch self {
      case .ok: answer == "ok"
      case .text(let text): answer == text
      case .oneOf(let texts): texts.contains(answer)
      case .natural: Int(answer).map { $0 >= 0 } ?? false
      case .noError: !answer.hasPrefix("error ")
      case .okUnlessRefused(let names): answer == "ok" || names.contains { answer == "error \($0)" }
      case .anything: true
      }
    }
  }

  private var steps: [(line: String, answer: Answer)]

  package init(_ steps: [(String, Answer)]) { self.steps = steps.map { (line: $0.0, answer: $0.1) } }

  /// Runs it in a child process, and returns the failures, starting with a crash or hang.
  package func failures(of program: String = "CacheTestProcess", within seconds: Int = 60) throws -> [String] {
    let outcome = try BoundedProcess.run(program, input: steps.map(\.line) + ["exit"], within: seconds)
    var failures: [String] = []
    if !outcome.isOrderly {
      let last = outcome.answers.count < steps.count ? steps[outcome.answers.count].line : "the end"
      failures.append("\(outcome.ending) in: \(last)")
    }
    for (step, answer) in zip(steps, outcome.answers) {
      if !step.answer.accepts(answer) { failures.append("\(step.line): \(answer), and not \(step.answer)") }
      if case .okUnlessRefused = step.answer, answer != "ok" { break }
    }
    return failures
  }
}

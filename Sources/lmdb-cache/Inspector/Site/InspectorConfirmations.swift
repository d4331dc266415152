import Synchronization

/// Changes that await the user's confirmation.
final class InspectorConfirmations: Sendable {
  private struct Question {
    let change: InspectorChange
    let code: InspectorToken
    /// Monotonic nanoseconds.
    let end: UInt64
  }

  private let questions = Mutex<[Question]>([])

  /// Seconds until a question expires.
  static let timeLimit = 60
  private static let greatestQuestions = 16

  /// Allows a change once, if the code comes back in time.
  func ask(about change: InspectorChange, now: UInt64 = Platform.nanoseconds()) -> InspectorToken {
    let code = InspectorToken()
    questions.withLock { questions in
      questions.removeAll { $0.end <= now }
      // Drops the oldest question.
      if questions.count >= Self.greatestQuestions { questions.removeFirst() }
      questions.append(Question(change: change, code: code, end: now + UInt64(Self.timeLimit) * 1_000_000_000))
    }
    return code
  }

  /// Whether this change was asked about, and not yet confirmed.
  func take(_ code: String, for change: InspectorChange, now: UInt64 = Platform.nanoseconds()) -> Bool {
    questions.withLock { questions in
      let index = questions.firstIndex { $0.code.matches(code) && $0.change == change && now < $0.end }
      guard let index else { return false }
      questions.remove(at: index)
      return true
    }
  }
}

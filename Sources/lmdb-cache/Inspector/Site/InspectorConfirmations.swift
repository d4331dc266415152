import Synchronization

/// Changes that the user is being asked about.
final class InspectorConfirmations: Sendable {
  private struct Question {
    let change: InspectorChange
    let code: InspectorToken
    /// Nanoseconds of the monotonic clock.
    let end: UInt64
  }

  private let questions = Mutex<[Question]>([])

  /// Seconds in which a question is to be answered.
  static let timeLimit = 60
  private static let greatestQuestions = 16

  /// Notes that a change may be made, once, if the code comes back in time.
  func ask(about change: InspectorChange, now: UInt64 = Platform.nanoseconds()) -> InspectorToken {
    let code = InspectorToken()
    questions.withLock { questions in
      questions.removeAll { $0.end <= now }
      // Of too many the oldest one is forgotten.
      if questions.count >= Self.greatestQuestions { questions.removeFirst() }
      questions.append(Question(change: change, code: code, end: now + UInt64(Self.timeLimit) * 1_000_000_000))
    }
    return code
  }

  /// Whether the user was asked about this very change, and has not answered before.
  func take(_ code: String, for change: InspectorChange, now: UInt64 = Platform.nanoseconds()) -> Bool {
    questions.withLock { questions in
      let index = questions.firstIndex { $0.code.matches(code) && $0.change == change && now < $0.end }
      guard let index else { return false }
      questions.remove(at: index)
      return true
    }
  }
}

import LMDBCaching
import Platform
import Synchronization

// What replies and failures say of the server.

extension RemoteClient {
  static let suspended = RemoteTierError(
    .suspended, "The server failed several times in a row, and is asked again after a pause.")

  func isAllowed(_ purpose: Purpose) -> Bool {
    let now = MonotonicClock.nanoseconds
    return breakers.withLock { $0[purpose].isAllowed(now: now) }
  }

  /// Makes a failure of the first reply that is an error.
  func settle(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int, _ purpose: Purpose, since start: Int64,
    _ judge: Judge?
  ) -> Result<[RemoteReply], RemoteTierError> {
    let result = Self.checked(result, count)
    let failure: RemoteTierError? =
      switch result {
      case .success(let replies): judge?(replies)
      case .failure(let error): error
      }
    let now = noteRequest(since: start, isFailure: failure != nil)
    if let failure { note(failure, purpose, now: now, since: start) } else { noteSuccess(purpose) }
    return result
  }

  /// Of a write, if there was one, and a read after it.
  func settle(
    _ result: Result<[RemoteReply], RemoteTierError>, isWritten: Bool, since start: Int64
  ) throws(RemoteTierError) -> (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply) {
    func outcome(_ reply: RemoteReply) -> Result<RemoteReply, RemoteTierError> {
      if case .error(let message) = reply { .failure(RemoteTierError(reply: message)) } else { .success(reply) }
    }
    var write = Result<RemoteReply, RemoteTierError>.failure(Self.suspended)
    var read: Result<RemoteReply, RemoteTierError>
    switch Self.counted(result, isWritten ? 2 : 1) {
    case .success(let replies):
      if isWritten { write = outcome(replies[0]) }
      read = outcome(replies[isWritten ? 1 : 0])
    case .failure(let error):
      if isWritten { write = .failure(error) }
      read = .failure(error)
    }
    let now = noteRequest(since: start, isFailure: { if case .failure = read { true } else { false } }())
    for (purpose, outcome) in isWritten ? [(Purpose.write, write), (.read, read)] : [(.read, read)] {
      switch outcome {
      case .success: noteSuccess(purpose)
      case .failure(let error): note(error, purpose, now: now, since: start)
      }
    }
    return (write, try read.get())
  }

  /// - Returns: What time it is.
  private func noteRequest(since start: Int64, isFailure: Bool) -> Int64 {
    let now = MonotonicClock.nanoseconds
    counters.note(nanoseconds: now - start, isFailure: isFailure)
    metrics?.noteRequest(nanoseconds: now - start)
    return now
  }

  private func noteSuccess(_ purpose: Purpose) {
    let hasClosed = breakers.withLock { breakers in
      defer { breakers[purpose].noteSuccess() }
      return breakers[purpose].isOpen
    }
    if hasClosed { onChange(nil) }
  }

  private func note(_ error: RemoteTierError, _ purpose: Purpose, now: Int64, since start: Int64) {
    // They say nothing of the server.
    if error.code == .closed || error.code == .busy { return }
    // It answers, and is there.
    if error.code == .failed, purpose == .read || error.isAboutOneRequest { return noteSuccess(purpose) }
    let random = Double.random(in: 0...1)
    let hasOpened = breakers.withLock {
      $0[purpose].noteFailure(error, now: now, since: start, random: random)
    }
    if !hasOpened { return }
    counters.breakerOpenings.add(1, ordering: .relaxed)
    onChange(error)
  }

  /// Makes an error of the first reply that is one.
  private static func checked(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int
  ) -> Result<[RemoteReply], RemoteTierError> {
    let result = counted(result, count)
    guard case .success(let replies) = result else { return result }
    for case .error(let message) in replies { return .failure(RemoteTierError(reply: message)) }
    return result
  }

  private static func counted(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int
  ) -> Result<[RemoteReply], RemoteTierError> {
    guard case .success(let replies) = result, replies.count != count else { return result }
    return .failure(RemoteTierError(.failed, "There are \(replies.count) replies to \(count) commands."))
  }
}

import Platform

/// Commands that were sent together, and the replies that have come.
struct PipelineRequest: Sendable {
  private(set) var commands: [RemoteCommand]
  /// In nanoseconds of the monotonic clock.
  let deadline: Int64
  /// When a connection on which it is not answered is given up.
  let end: Int64
  /// Nil: nobody waits any more.
  var completion: RedisPipeline.Completion?
  var replies: [RemoteReply] = []
  private let count: Int

  /// A server that stalls for less keeps its connections: those behind a late reply may be in time.
  private static let shortestGrace: Int64 = 1_000_000_000

  init(_ commands: [RemoteCommand], timeLimit: Int64, _ completion: @escaping RedisPipeline.Completion) {
    self.commands = commands
    self.completion = completion
    count = commands.count
    deadline = MonotonicClock.nanoseconds.addingClamped(timeLimit)
    end = deadline.addingClamped(max(timeLimit, Self.shortestGrace))
  }

  var isAnswered: Bool { replies.count == count }
  var isAbandoned: Bool { completion == nil }

  /// Its commands are with the connection.
  mutating func didSend() { commands = [] }

  mutating func abandon(_ error: RemoteTierError) {
    completion?(.failure(error))
    completion = nil
  }
}

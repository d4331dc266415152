import Platform

/// Commands sent together, and their replies so far.
struct PipelineRequest: Sendable {
  private(set) var commands: [RemoteCommand]
  /// Monotonic nanoseconds.
  let deadline: Int64
  /// The time to give up a connection that has not answered.
  let end: Int64
  /// `nil` once abandoned.
  var completion: RedisPipeline.Completion?
  var replies: [RemoteReply] = []
  private let count: Int

  /// A server that stalls for less keeps its connections: replies behind a late one may be in time.
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

  /// The commands were passed to the connection.
  mutating func didSend() { commands = [] }

  mutating func abandon(_ error: RemoteTierError) {
    completion?(.failure(error))
    completion = nil
  }
}

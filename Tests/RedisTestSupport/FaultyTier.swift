import Foundation
package import LMDBCachingRedis
import TestSupport

/// Forwards requests to another tier and injects faults: refused or delayed requests, lost or delayed replies.
package final class FaultyTier: RemoteTier {
  package struct Request: Sendable {
    package let commands: [RemoteCommand]
    package let isBlocking: Bool

    package func has(_ name: String) -> Bool { commands.contains { $0.arguments.first == Data(name.utf8) } }

    package func mentions(_ text: String) -> Bool {
      commands.contains { $0.arguments.contains { $0.range(of: Data(text.utf8)) != nil } }
    }
  }

  package enum Fault: Sendable {
    case none
    /// The request is not sent.
    case fail(RemoteTierError)
    /// The request is sent, and its reply dropped.
    case loseReply
    /// The request is not sent.
    case answer([RemoteReply])
    case delayRequest(Gate)
    case delayReply(Gate)

    package static var timeOut: Fault { .fail(RemoteTierError(.timedOut, "There was no reply in time.")) }
  }

  private let tier: any RemoteTier
  private let rule: Guarded<@Sendable (Request) -> Fault>

  package init(_ tier: any RemoteTier, _ rule: @escaping @Sendable (Request) -> Fault = { _ in .none }) {
    self.tier = tier
    self.rule = Guarded(rule)
  }

  package func set(_ rule: @escaping @Sendable (Request) -> Fault) { self.rule { $0 = rule } }

  /// Applies to the first matching request only.
  package func once(_ fault: Fault, where isRight: @escaping @Sendable (Request) -> Bool) {
    let isOver = Guarded(false)
    set { request in
      guard isRight(request),
        isOver({ over in
          defer { over = true }; return !over
        })
      else { return .none }
      return fault
    }
  }

  package func send(
    _ commands: [RemoteCommand], timeLimit: Duration, isBlocking: Bool,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    let request = Request(commands: commands, isBlocking: isBlocking)
    @Sendable func pass(_ completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void) {
      tier.send(commands, timeLimit: timeLimit, isBlocking: isBlocking, completion: completion)
    }
    switch rule.current(request) {
    case .none: pass(completion)
    case .fail(let error): completion(.failure(error))
    case .loseReply: pass { _ in completion(.failure(RemoteTierError(.timedOut, "There was no reply in time."))) }
    case .answer(let replies): completion(.success(replies))
    case .delayRequest(let gate): gate.whenOpen { pass(completion) }
    case .delayReply(let gate): pass { result in gate.whenOpen { completion(result) } }
    }
  }

  package func renewConnections() { tier.renewConnections() }

  package func close() { tier.close() }
}

/// Blocks callers until it is opened.
package final class Gate: Sendable {
  private let state = Guarded<(isOpen: Bool, waiting: [@Sendable () -> Void])>((false, []))

  package init() {}

  package var count: Int { state.current.waiting.count }

  package func open() {
    let waiting = state { state in
      defer { state = (true, []) }
      return state.waiting
    }
    for body in waiting { body() }
  }

  package func whenOpen(_ body: @escaping @Sendable () -> Void) {
    let isOpen = state { state in
      if !state.isOpen { state.waiting.append(body) }
      return state.isOpen
    }
    if isOpen { body() }
  }
}

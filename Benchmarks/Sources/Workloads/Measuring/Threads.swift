import Foundation
import Synchronization

/// Runs `body` with each thread's number on `count` threads at once, and waits for all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
  switch count {
  case 1: try body(0)
  case 2:
    try SecondThread.shared.runBeside {
      try body(0)
    } second: {
      try body(1)
    }
  default: preconditionFailure("one or two")
  }
}

/// A waiting thread, so that no round pays for starting one.
private final class SecondThread: Sendable {
  static let shared = SecondThread()

  private struct State {
    var work: (@Sendable () throws -> Void)?
    var failure: (any Error)?
  }

  private let state = Mutex(State())
  private let begun = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  private init() {
    Thread.detachNewThread { [self] in
      while true {
        begun.wait()
        let work = state.withLock { $0.work.take() }
        do {
          try work?()
        } catch {
          state.withLock { $0.failure = error }
        }
        ended.signal()
      }
    }
  }

  func runBeside(_ first: () throws -> Void, second: @escaping @Sendable () throws -> Void) throws {
    state.withLock { $0.work = second }
    begun.signal()
    let result = Result { try first() }
    ended.wait()
    let failure = state.withLock { $0.failure.take() }
    try result.get()
    if let failure { throw failure }
  }
}

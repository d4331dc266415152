#if canImport(Glibc)
  import Dispatch
  import Foundation
  import Glibc
  import Platform
  import RedisTestSupport
  import TestSupport
  import Testing

  @testable import LMDBCachingRedis

  @Suite struct SocketTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    /// Signals at a higher rate than the timeout (from a profiler, for example) must not prolong it.
    @Test func signalsDoNotProlongAWait() throws {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in }
      #expect(sigaction(SIGURG, &action, nil) == 0)
      let (thread, received, group) = (Guarded<pthread_t?>(nil), Guarded<Int??>(.none), DispatchGroup())
      inBackground(group) { [server] in
        do {
          let socket = try RedisSocket.connected(to: .unixSocket(server.socket), before: .max)
          var bytes = [UInt8](repeating: 0, count: 64)
          thread { $0 = pthread_self() }
          let count = try bytes.withUnsafeMutableBytes {
            try socket.receive(into: $0, before: MonotonicClock.nanoseconds + 400_000_000)
          }
          // The thread's identifier is invalid once it has ended.
          thread { $0 = nil }
          received { $0 = .some(count) }
        } catch {
          thread { $0 = nil }
          Issue.record("\(error)")
        }
      }
      var signals = 0
      while received.current == nil, signals < 30_000 {
        thread { if let thread = $0 { pthread_kill(thread, SIGURG) } }
        signals += 1
        usleep(10_000)
      }
      group.wait()
      #expect(received.current == .some(nil))
      #expect(signals < 30_000)
    }
  }
#endif

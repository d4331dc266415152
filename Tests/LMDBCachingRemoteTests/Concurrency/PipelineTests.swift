import Foundation
import RedisTestSupport
import TestSupport
import Testing

@testable import LMDBCachingRedis

@Suite struct PipelineTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  private func connector() -> RedisConnector { RedisConnector(RedisConfiguration(unixSocket: server.socket)) }

  private func pipeline(idleTime: Int64) throws -> RedisPipeline {
    try RedisPipeline("redis", connector(), idleTime: idleTime)
  }

  /// An idle thread ends and the next request starts another: never two at once.
  @Test func threadsThatEndMeetThoseThatBegin() throws {
    let pipeline = try pipeline(idleTime: 0)
    defer { pipeline.close() }
    concurrently(4) { thread in
      for number in 0..<300 {
        let (done, text) = (DispatchSemaphore(value: 0), "\(thread) \(number)")
        pipeline.send([RemoteCommand(["ECHO", text])], timeLimit: 300_000_000_000) { result in
          if case .success(let replies) = result {
            #expect(replies == [.bytes(Data(text.utf8))])
          } else {
            Issue.record("\(result)")
          }
          done.signal()
        }
        done.wait()
        // About as long as a thread takes to end.
        if number % 3 != 0 { usleep(UInt32(number % 50 * 10)) }
      }
    }
  }

  /// Requests during a renewal of connections get their own replies.
  @Test func requestsOutliveTheRenewalOfConnections() throws {
    let connector = connector()
    let pipeline = try RedisPipeline("redis", connector)
    defer { pipeline.close() }
    let (isOver, group) = (Guarded(false), DispatchGroup())
    inBackground(group) {
      while !isOver.current {
        connector.renew()
        usleep(3_000)
      }
    }
    concurrently(4) { thread in
      let group = DispatchGroup()
      for number in 0..<500 {
        group.enter()
        let text = "\(thread) \(number)"
        pipeline.send(
          [RemoteCommand(["ECHO", text]), RemoteCommand(["PING"])], timeLimit: 300_000_000_000
        ) { result in
          #expect((try? result.get()) == [.bytes(Data(text.utf8)), .bytes(Data("PONG".utf8))])
          group.leave()
        }
        if number % 20 == 0 { usleep(1_000) }
      }
      group.wait()
    }
    isOver { $0 = true }
    group.wait()
  }

  @Test func whatIsUnderWayFailsWhenItIsClosed() throws {
    for _ in 0..<20 {
      let pipeline = try pipeline(idleTime: 10_000_000_000)
      let (failures, group) = (Guarded(0), DispatchGroup())
      server.suspend()
      for _ in 0..<10 {
        group.enter()
        pipeline.send([RemoteCommand(["PING"])], timeLimit: 300_000_000_000) { result in
          if case .failure(let error) = result { failures { $0 += error.code == .closed ? 1 : 0 } }
          group.leave()
        }
      }
      pipeline.close()
      group.wait()
      server.resume()
      #expect(failures.current == 10)
    }
  }

  @Test func noConnectionOutlivesTheEnd() throws {
    let pipelines = try (0..<8).map { _ in try pipeline(idleTime: 10_000_000_000) }
    server.suspend()
    for pipeline in pipelines {
      pipeline.send([RemoteCommand(["PING"])], timeLimit: 300_000_000_000) { _ in }
      // Some connections are being made, others have not begun.
      usleep(2_000)
      pipeline.close()
    }
    server.resume()
    // Only the test's own connection is left.
    try withExtendedLifetime(pipelines) {
      try waitUntil {
        guard case .bytes(let list) = try server.run("CLIENT", "LIST") else { return false }
        return String(decoding: list, as: UTF8.self).split(separator: "\n").count == 1
      }
    }
  }

  @Test func aPoolHandsOutAsManyAsItMay() throws {
    let connector = connector()
    let pool = RedisPool(limit: 3, connector)
    defer { pool.close() }
    let (isOver, group) = (Guarded(false), DispatchGroup())
    inBackground(group) {
      while !isOver.current {
        connector.renew()
        usleep(2_000)
      }
    }
    concurrently(8) { thread in
      for number in 0..<200 {
        let text = "\(thread) \(number)"
        do {
          let replies = try pool.perform([RemoteCommand(["ECHO", text])], timeLimit: 300_000_000_000)
          #expect(replies == [.bytes(Data(text.utf8))])
        } catch { Issue.record(error) }
      }
    }
    isOver { $0 = true }
    group.wait()
  }
}

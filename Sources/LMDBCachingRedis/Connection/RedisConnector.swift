import LMDBCaching
import Platform
import Synchronization

/// Makes connections, each on a thread of its own, so that nobody waits longer than he wants.
final class RedisConnector: Sendable {
  typealias Completion = @Sendable (Result<RedisSession, RemoteTierError>) -> Void

  private let configuration: RedisConfiguration
  /// Where a cluster has said that the fleet's keys are; `nil` where it has not.
  private let redirection = Mutex<RedisConfiguration.Address?>(nil)

  init(_ configuration: RedisConfiguration) { self.configuration = configuration }

  func connect(completion: @escaping Completion) {
    do throws(SystemError) {
      try PlatformThread.start(name: "redis-connect") { [self] in
        let result: Result<RedisSession, RemoteTierError>
        do throws(RemoteTierError) { result = .success(try connect()) } catch { result = .failure(error) }
        completion(result)
      }
    } catch {
      completion(.failure(RemoteTierError(.unreachable, "\(error)")))
    }
  }

  private func connect() throws(RemoteTierError) -> RedisSession {
    // Of both attempts.
    let deadline = MonotonicClock.nanoseconds.addingClamped(configuration.connectTimeLimit.clampedNanoseconds)
    if let address = redirection.withLock({ $0 }) {
      do throws(RemoteTierError) {
        return try RedisSession(configuration, at: address, deadline: deadline)
      } catch {
        // Another node of the cluster may have taken its place, which the others know.
        redirection.withLock { if $0 == address { $0 = nil } }
      }
    }
    return try RedisSession(configuration, at: configuration.address, deadline: deadline)
  }

  /// Goes where a cluster says that the fleet's keys are.
  ///
  /// - Parameter message: `MOVED 3999 10.0.0.5:6381`. Without a host the node that says so means its own.
  func follow(_ message: String) {
    let words = message.split(separator: " ")
    guard words.count >= 3, words[0] == "MOVED", let colon = words[2].lastIndex(of: ":"),
      let port = Int(words[2][words[2].index(after: colon)...]), (1...65_535).contains(port)
    else { return }
    var host = String(words[2][..<colon])
    if host.isEmpty || host == "?" {
      guard case .host(let own, _) = redirection.withLock({ $0 }) ?? configuration.address else { return }
      host = own
    }
    redirection.withLock { $0 = .host(host, port: port) }
  }
}

import LMDBCaching
import Platform
import Synchronization

/// Creates connections, each on a separate thread, so that callers can time out.
final class RedisConnector: Sendable {
  typealias Completion = @Sendable (Result<RedisSession, RemoteTierError>) -> Void

  private let configuration: RedisConfiguration
  /// The node that a cluster named for the fleet's keys, if any.
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
    // For both attempts.
    let deadline = MonotonicClock.nanoseconds.addingClamped(configuration.connectTimeLimit.clampedNanoseconds)
    if let address = redirection.withLock({ $0 }) {
      do throws(RemoteTierError) {
        return try RedisSession(configuration, at: address, deadline: deadline)
      } catch {
        // Another node may have replaced it, which the others know.
        redirection.withLock { if $0 == address { $0 = nil } }
      }
    }
    return try RedisSession(configuration, at: configuration.address, deadline: deadline)
  }

  /// Follows a cluster's redirection to the node of the fleet's keys.
  ///
  /// - Parameter message: `MOVED 3999 10.0.0.5:6381`. An empty host means the responding node's.
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

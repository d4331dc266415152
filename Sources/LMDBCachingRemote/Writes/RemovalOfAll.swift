import Foundation

/// Removes the fleet's entries whose keys begin so.
///
/// It takes a revision, removes page by page what is older, and then tells the fleet. What is written meanwhile is newer,
/// and stays on the server. Until the fleet is told machines may go on to serve what is being removed; after that nothing
/// old is left that they could find.
enum RemovalOfAll {
  private static let pageLength = 512

  static func run(
    withPrefix prefix: String, _ client: RemoteClient, _ names: RemoteNames, _ streamLength: Int,
    completion: @escaping @Sendable (Result<RemoteRevision?, RemoteTierError>) -> Void
  ) {
    let add = ["XADD", names.changes, "MAXLEN", "~", String(streamLength), "*"].map(\.bytes)
    client.send([RemoteCommand(add + ["n".bytes, Data()])], .write) { result in
      switch result.map({ RemoteEntry.revision(ofScript: $0[0]) }) {
      case .failure(let error): completion(.failure(error))
      case .success(nil): completion(.failure(RemoteTierError(.failed, "XADD returned no identifier.")))
      case .success(let revision?):
        let patterns = names.patterns(ofKeysWithPrefix: prefix)
        remove(patterns.leases, below: revision, "0", client) { result in
          if case .failure(let error) = result { return completion(.failure(error)) }
          remove(patterns.entries, below: revision, "0", client) { result in
            if case .failure(let error) = result { return completion(.failure(error)) }
            client.send([RemoteCommand(add + ["p".bytes, prefix.bytes])], .write) { result in
              completion(result.map { RemoteEntry.revision(ofScript: $0[0]) })
            }
          }
        }
      }
    }
  }

  private static func remove(
    _ pattern: String, below revision: RemoteRevision, _ cursor: String, _ client: RemoteClient,
    completion: @escaping @Sendable (Result<Void, RemoteTierError>) -> Void
  ) {
    client.send([RemoteCommand("SCAN", cursor, "MATCH", pattern, "COUNT", pageLength)], .write) { result in
      guard case .success(let replies) = result, case .array(let parts) = replies[0], parts.count == 2,
        case .bytes(let next) = parts[0], case .array(let found) = parts[1]
      else {
        if case .failure(let error) = result { return completion(.failure(error)) }
        return completion(.failure(RemoteTierError(.failed, "SCAN returned something else.")))
      }
      let keys: [Data] = found.compactMap { if case .bytes(let key) = $0 { key } else { nil } }
      let cursor = String(decoding: next, as: UTF8.self)
      let goOn: @Sendable () -> Void = {
        if cursor == "0" { return completion(.success(())) }
        remove(pattern, below: revision, cursor, client, completion: completion)
      }
      if keys.isEmpty { return goOn() }
      let bound = revision.text.split(separator: "-").map { Data($0.utf8) }
      let command = RemoteCommand(
        ["EVAL".bytes, RemoteScript.removeOlder.source.bytes, keys.count.bytes] + keys + bound)
      client.send([command], .write) { result in
        if case .failure(let error) = result { return completion(.failure(error)) }
        goOn()
      }
    }
  }
}

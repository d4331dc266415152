import Foundation

/// Removes the fleet's entries whose keys begin so.
///
/// It takes a revision, removes page by page what is older, and then tells the fleet. What is written meanwhile is newer,
/// and stays on the server. Until the fleet is told machines may go on to serve what is being removed; after that nothing
/// old is left that they could find. One of a queue that is sent again goes on with the revision that it had, and is not
/// made twice.
struct RemovalOfAll: Sendable {
  private static let pageLength = 512

  let prefix: String
  let client: RemoteClient
  let names: RemoteNames
  let streamLength: Int
  /// Of a queue.
  var queue: (identifier: String, number: Int)?

  typealias Completion = @Sendable (Result<RemoteRevision?, RemoteTierError>) -> Void

  private var keys: [String] {
    [names.changes] + (queue.map { [names.queue($0.identifier), names.removal($0.identifier)] } ?? [])
  }

  private var number: [Data] { queue.map { [$0.number.bytes] } ?? [] }

  /// - Parameter completion: Is given the revision of the change that tells the fleet; `nil`: it was told before.
  func run(_ completion: @escaping Completion) {
    let begin = RemoteScript.beginRemoval.command(
      keys: keys.map(\.bytes), arguments: [streamLength.bytes] + number)
    send(begin, completion) { (reply) throws(RemoteTierError) in
      guard let revision = try Self.revision(reply) else { return completion(.success(nil)) }
      let patterns = names.patterns(ofKeysWithPrefix: prefix)
      remove(patterns.leases, below: revision, "0", completion) {
        remove(patterns.entries, below: revision, "0", completion) {
          let end = RemoteScript.endRemoval.command(
            keys: keys.map(\.bytes), arguments: [streamLength.bytes, prefix.bytes] + number)
          send(end, completion) { (reply) throws(RemoteTierError) in
            completion(.success(try Self.revision(reply)))
          }
        }
      }
    }
  }

  /// A script returns a revision, or nothing if what it was to do was done before.
  private static func revision(_ reply: RemoteReply) throws(RemoteTierError) -> RemoteRevision? {
    guard case .bytes(let text) = reply else {
      throw RemoteTierError(.failed, "A script returned no revision.")
    }
    if text.isEmpty { return nil }
    guard let revision = RemoteRevision(text) else {
      throw RemoteTierError(.failed, "A script returned no revision.")
    }
    return revision
  }

  private func send(
    _ command: RemoteCommand, _ completion: @escaping Completion,
    _ body: @escaping @Sendable (RemoteReply) throws(RemoteTierError) -> Void
  ) {
    client.send([command], .write) { result in
      do throws(RemoteTierError) {
        try body(try result.get()[0])
      } catch {
        completion(.failure(error))
      }
    }
  }

  private func remove(
    _ pattern: String, below revision: RemoteRevision, _ cursor: String, _ completion: @escaping Completion,
    _ next: @escaping @Sendable () -> Void
  ) {
    send(RemoteCommand("SCAN", cursor, "MATCH", pattern, "COUNT", Self.pageLength), completion) {
      (reply) throws(RemoteTierError) in
      guard case .array(let parts) = reply, parts.count == 2, case .bytes(let following) = parts[0],
        case .array(let found) = parts[1]
      else { throw RemoteTierError(.failed, "SCAN returned something else.") }
      let keys: [Data] = found.compactMap { if case .bytes(let key) = $0 { key } else { nil } }
      let cursor = String(decoding: following, as: UTF8.self)
      let goOn: @Sendable () -> Void = {
        if cursor == "0" { return next() }
        remove(pattern, below: revision, cursor, completion, next)
      }
      if keys.isEmpty { return goOn() }
      let bound = revision.text.split(separator: "-").map { Data($0.utf8) }
      send(RemoteScript.removeOlder.command(keys: keys, arguments: bound), completion) { _ in goOn() }
    }
  }
}

import Foundation

/// Removes the fleet's entries whose keys begin so.
///
/// It takes a revision, removes page by page what is older, and then tells the fleet. What is written meanwhile is
/// newer, and stays on the server. Until the fleet is told machines may go on to serve what is being removed; after
/// that nothing old is left that they could find. If another server takes the place of the one that was asked, it
/// begins anew. One of a queue that is sent again goes on with the revision that it had, and is not made twice.
struct RemovalOfAll: Sendable {
  private static let pageLength = 512
  /// How often it begins anew with another server, before it takes the address for one of several servers.
  private static let changesLimit = 8

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

  /// How far it is.
  private struct Progress: Sendable {
    let revision: RemoteRevision
    /// What the server says of itself, which another one that takes its place does not; empty: it does not say.
    var server: Data?
    /// How often another one had taken its place.
    var changes = 0
  }

  /// - Parameter completion: Is given the revision of the change that tells the fleet; `nil`: it was told before.
  func run(_ completion: @escaping Completion) {
    let begin = RemoteScript.beginRemoval.command(
      keys: keys.map(\.bytes), arguments: [streamLength.bytes] + number)
    send([begin], completion) { (replies) throws(RemoteTierError) in
      guard let revision = try Self.revision(replies[0]) else { return completion(.success(nil)) }
      removePages(Progress(revision: revision), completion)
    }
  }

  private func removePages(_ progress: Progress, _ completion: @escaping Completion) {
    let patterns = names.patterns(ofKeysWithPrefix: prefix)
    remove(patterns.leases, progress, "0", completion) { progress in
      remove(patterns.entries, progress, "0", completion) { end($0, completion) }
    }
  }

  /// Only the server that all pages were removed on may tell the fleet: one that takes its place may have some of them.
  private func end(_ progress: Progress, _ completion: @escaping Completion) {
    let end = RemoteScript.endRemoval.command(
      keys: keys.map(\.bytes), arguments: [streamLength.bytes, prefix.bytes, progress.server ?? Data()] + number)
    send([end], completion) { (replies) throws(RemoteTierError) in
      if case .bytes(RemoteScript.anotherServer) = replies[0] { return try beginAnew(progress, completion) }
      completion(.success(try Self.revision(replies[0])))
    }
  }

  /// A cursor means something to the server that gave it, and to no other, nor to itself after a restart.
  private func beginAnew(_ progress: Progress, _ completion: @escaping Completion) throws(RemoteTierError) {
    guard progress.changes < Self.changesLimit else {
      throw RemoteTierError(
        .unreachable,
        "Another server answered again and again while entries were being removed: the address has to lead to one primary."
      )
    }
    removePages(Progress(revision: progress.revision, changes: progress.changes + 1), completion)
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
    _ commands: [RemoteCommand], _ completion: @escaping Completion,
    _ body: @escaping @Sendable ([RemoteReply]) throws(RemoteTierError) -> Void
  ) {
    client.send(commands, .write) { result in
      do throws(RemoteTierError) {
        try body(try result.get())
      } catch {
        completion(.failure(error))
      }
    }
  }

  private func remove(
    _ pattern: String, _ progress: Progress, _ cursor: String, _ completion: @escaping Completion,
    _ next: @escaping @Sendable (Progress) -> Void
  ) {
    let scan = RemoteCommand("SCAN", cursor, "MATCH", pattern, "COUNT", Self.pageLength)
    send([RemoteScript.identity.command(keys: []), scan], completion) { (replies) throws(RemoteTierError) in
      guard case .bytes(let server) = replies[0] else {
        throw RemoteTierError(.failed, "A script returned no name of its server.")
      }
      if progress.server.map({ $0 != server }) == true { return try beginAnew(progress, completion) }
      var progress = progress
      progress.server = server
      guard case .array(let parts) = replies[1], parts.count == 2, case .bytes(let following) = parts[0],
        case .array(let found) = parts[1]
      else { throw RemoteTierError(.failed, "SCAN returned something else.") }
      let keys: [Data] = found.compactMap { if case .bytes(let key) = $0 { key } else { nil } }
      let cursor = String(decoding: following, as: UTF8.self)
      let goOn: @Sendable () -> Void = { [progress] in
        if cursor == "0" { return next(progress) }
        remove(pattern, progress, cursor, completion, next)
      }
      if keys.isEmpty { return goOn() }
      let bound = progress.revision.text.split(separator: "-").map { Data($0.utf8) }
      send([RemoteScript.removeOlder.command(keys: keys, arguments: bound)], completion) { _ in goOn() }
    }
  }
}

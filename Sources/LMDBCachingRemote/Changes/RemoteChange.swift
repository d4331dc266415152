import Foundation

/// What an entry of the stream of changes says.
enum RemoteChange: Sendable, Equatable {
  /// The entry under a key was set or removed.
  case key(String)
  /// Every entry whose key begins so was removed; with an empty prefix, every one.
  case prefix(String)
  /// Nothing changed: somebody wanted a revision.
  case none
  /// It is of no kind that this version knows, or of another program: anything may have changed.
  case unknown

  init(fields: [RemoteReply]) {
    guard fields.count == 2, case .bytes(let name) = fields[0], case .bytes(let value) = fields[1],
      let text = String(validating: value, as: UTF8.self)
    else {
      self = .unknown
      return
    }
    switch name {
    case Data("k".utf8): self = .key(text)
    case Data("p".utf8): self = .prefix(text)
    case Data("n".utf8): self = .none
    default: self = .unknown
    }
  }

  /// The entries of a reply to `XREAD` of one stream.
  static func changes(in reply: RemoteReply) throws(RemoteTierError) -> [(
    revision: RemoteRevision, change: RemoteChange
  )] {
    if case .null = reply { return [] }
    guard case .array(let streams) = reply, streams.count == 1, case .array(let stream) = streams[0], stream.count == 2
    else { throw unexpected(reply) }
    return try entries(in: stream[1])
  }

  /// The entries of a reply to `XRANGE`.
  static func entries(in reply: RemoteReply) throws(RemoteTierError) -> [(
    revision: RemoteRevision, change: RemoteChange
  )] {
    guard case .array(let entries) = reply else { throw unexpected(reply) }
    var changes: [(revision: RemoteRevision, change: RemoteChange)] = []
    for entry in entries {
      guard case .array(let parts) = entry, parts.count == 2, case .bytes(let id) = parts[0],
        let revision = RemoteRevision(id), case .array(let fields) = parts[1]
      else { throw unexpected(reply) }
      changes.append((revision, RemoteChange(fields: fields)))
    }
    return changes
  }

  private static func unexpected(_ reply: RemoteReply) -> RemoteTierError {
    if case .error(let message) = reply { return RemoteTierError(reply: message) }
    return RemoteTierError(
      .failed,
      "The stream of changes holds something else. Has another program a key of this name, or written to it? Remove the key."
    )
  }
}

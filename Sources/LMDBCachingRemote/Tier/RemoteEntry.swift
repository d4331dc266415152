import Foundation
import LMDBCaching

/// What the server has under a key.
struct RemoteEntry: Sendable {
  let revision: RemoteRevision
  /// A part of the reply.
  let record: Data

  /// How much of a value its revision takes at most, with the line feed.
  static let revisionLength = 48

  /// Reads a value: its revision, a line feed, the record. `nil` where there is none.
  ///
  /// - Throws: `.failed` for what is no value of a cache.
  init?(_ reply: RemoteReply) throws(RemoteTierError) {
    guard case .bytes(let value) = reply else {
      if case .null = reply { return nil }
      throw RemoteTierError(.failed, "The server holds what is no value of a cache. Has another program such a key?")
    }
    guard let end = value.prefix(Self.revisionLength).firstIndex(of: 0x0A), let revision = RemoteRevision(value[..<end])
    else {
      throw RemoteTierError(.failed, "The server holds what is no value of a cache. Has another program such a key?")
    }
    self.revision = revision
    record = value[(end + 1)...]
  }

  /// The revision of a value, of which there is the beginning only; `nil` if there is none.
  static func revision(_ reply: RemoteReply) -> RemoteRevision? {
    guard case .bytes(let value) = reply, let end = value.firstIndex(of: 0x0A) else { return nil }
    return RemoteRevision(value[..<end])
  }

  /// The revision that a script returns; `nil` if it did nothing.
  static func revision(ofScript reply: RemoteReply) -> RemoteRevision? {
    guard case .bytes(let id) = reply else { return nil }
    return RemoteRevision(id)
  }
}

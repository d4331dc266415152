import Foundation
import Platform

/// A machine's place in the stream of changes, and the meaning of the server's replies. Does no I/O.
struct StreamReader: Sendable {
  enum Connection: Sendable, Equatable {
    /// Whether changes may have been missed.
    case connected(hasGap: Bool)
    /// The server needs a mark that it is the fleet's, or a last change. Sent only then: a full server can be read.
    case lacks(RemoteCommand)
  }

  struct Page: Sendable {
    let changes: [RemoteChange.Entry]
    /// Whether there were no others when it was read.
    let isComplete: Bool
    let isForgotten: Bool
    /// The greatest revision stored here at the request.
    let greatest: RemoteRevision
  }

  private static let pageLength = 512

  private let names: RemoteNames
  /// Nil: nothing was read yet.
  private var incarnation: Data?
  private var wasPrimary = false
  private(set) var position = RemoteRevision.none
  /// The end of the stream, as of the last reply.
  private(set) var newest = RemoteRevision.none
  private var unconfirmed = UnconfirmedRevisions()
  /// The greatest unconfirmed revision at the last request.
  private var greatest = RemoteRevision.none

  init(_ names: RemoteNames) { self.names = names }

  var isAtEnd: Bool { position >= newest }

  /// How much later than the last change that was read the newest one is, in nanoseconds of the server's clock.
  var distance: Int64 { isAtEnd ? 0 : newest.milliseconds(since: position).multipliedClamped(by: 1_000_000) }

  /// Something is stored here that a change made which may not have been read yet.
  mutating func note(_ revision: RemoteRevision) { if revision > position { unconfirmed.insert(revision) } }

  mutating func connectCommands() -> [RemoteCommand] {
    greatest = unconfirmed.greatest
    return [
      RemoteCommand("GET", names.incarnation),
      RemoteCommand("XREVRANGE", names.changes, "+", "-", "COUNT", 1),
      RemoteCommand("XRANGE", names.changes, position.text, position.text),
      RemoteCommand("ROLE"),
    ]
  }

  mutating func didConnect(_ replies: [RemoteReply]) throws(RemoteTierError) -> Connection {
    try Self.check(replies, 4)
    switch replies[0] {
    case .bytes(let found):
      guard let last = try RemoteChange.entries(in: replies[1]).first?.revision else {
        return .lacks(RemoteCommand("XADD", names.changes, "*", "n", ""))
      }
      let isForgotten = try RemoteChange.entries(in: replies[2]).isEmpty
      let hasGap = incarnation != found || isForgotten || greatest > max(last, position)
      incarnation = found
      wasPrimary = Self.isPrimary(replies[3]) ?? false
      newest = last
      if hasGap { lose(at: last) }
      return .connected(hasGap: hasGap)
    case .null: return .lacks(RemoteCommand("SET", names.incarnation, UUID().uuidString, "NX"))
    case .error(let message): throw RemoteTierError(reply: message)
    default: throw RemoteTierError(.failed, "The server has something else in the place of the fleet's mark.")
    }
  }

  /// Forgets the revisions stored before.
  private mutating func lose(at position: RemoteRevision) {
    self.position = position
    unconfirmed = UnconfirmedRevisions()
  }

  /// - Parameter wait: How long the server holds its reply back when there is nothing new.
  mutating func readCommands(wait: Duration) -> [RemoteCommand] {
    greatest = unconfirmed.greatest
    return [
      RemoteCommand("GET", names.incarnation),
      RemoteCommand(
        "XREAD", "COUNT", Self.pageLength, "BLOCK", wait.wholeMilliseconds, "STREAMS", names.changes, position.text),
      RemoteCommand("XRANGE", names.changes, position.text, position.text),
      RemoteCommand("XREVRANGE", names.changes, "+", "-", "COUNT", 1),
      RemoteCommand("ROLE"),
    ]
  }

  /// - Throws: Where there is nothing to go on from: it has to connect again.
  mutating func didRead(_ replies: [RemoteReply]) throws(RemoteTierError) -> Page {
    try Self.check(replies, 5)
    if case .error(let message) = replies[0] { throw RemoteTierError(reply: message) }
    guard case .bytes(let found) = replies[0], found == incarnation else {
      throw RemoteTierError(.unreachable, "The server was emptied.")
    }
    if wasPrimary, Self.isPrimary(replies[4]) == false {
      throw RemoteTierError(.unreachable, "The server has become a replica of another one.")
    }
    let changes = try RemoteChange.changes(in: replies[1])
    let isForgotten = try RemoteChange.entries(in: replies[2]).isEmpty
    newest = try RemoteChange.entries(in: replies[3]).first?.revision ?? changes.last?.revision ?? position
    return Page(
      changes: changes, isComplete: changes.count < Self.pageLength, isForgotten: isForgotten, greatest: greatest)
  }

  /// Notes that a change was followed. Returns whether none was missing before it.
  mutating func didFollow(_ revision: RemoteRevision) -> Bool {
    position = revision
    return unconfirmed.confirm(revision)
  }

  /// Notes that a page was followed. Returns whether changes may have been missed, and an error if reading cannot go
  /// on.
  mutating func didFollow(_ page: Page, hasGap: Bool) -> (hasGap: Bool, error: RemoteTierError?) {
    if page.isForgotten {
      // The oldest are forgotten first: these are complete.
      lose(at: position)
      let error = RemoteTierError(.unreachable, "The last change that was read was forgotten.")
      return (true, page.changes.isEmpty ? error : nil)
    }
    if page.isComplete, page.greatest > position {
      lose(at: position)
      return (true, RemoteTierError(.unreachable, "The server lacks changes that were made before."))
    }
    if hasGap { lose(at: position) }
    return (hasGap, nil)
  }

  private static func check(_ replies: [RemoteReply], _ count: Int) throws(RemoteTierError) {
    if replies.count == count { return }
    throw RemoteTierError(.failed, "There are \(replies.count) replies to \(count) commands.")
  }

  /// Whether the server is a primary; `nil`: it does not say.
  private static func isPrimary(_ reply: RemoteReply) -> Bool? {
    guard case .array(let parts) = reply, case .bytes(let role)? = parts.first else { return nil }
    return role == Data("master".utf8)
  }
}

enum RemoteChange: Sendable, Equatable {
  /// The entry under a key was set or removed.
  case key(String)
  /// Every entry whose key begins so was removed; with an empty prefix, every one.
  case prefix(String)
  /// Nothing changed: somebody wanted a revision.
  case none
  /// It is of no kind that this version knows, or of another program: anything may have changed.
  case unknown

  typealias Entry = (revision: RemoteRevision, change: RemoteChange)

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

  static func changes(in reply: RemoteReply) throws(RemoteTierError) -> [Entry] {
    if case .null = reply { return [] }
    guard case .array(let streams) = reply, streams.count == 1, case .array(let stream) = streams[0], stream.count == 2
    else { throw unexpected(reply) }
    return try entries(in: stream[1])
  }

  static func entries(in reply: RemoteReply) throws(RemoteTierError) -> [Entry] {
    guard case .array(let entries) = reply else { throw unexpected(reply) }
    return try entries.map { (entry) throws(RemoteTierError) in
      guard case .array(let parts) = entry, parts.count == 2, case .bytes(let id) = parts[0],
        let revision = RemoteRevision(id), case .array(let fields) = parts[1]
      else { throw unexpected(reply) }
      return (revision, RemoteChange(fields: fields))
    }
  }

  private static func unexpected(_ reply: RemoteReply) -> RemoteTierError {
    if case .error(let message) = reply { return RemoteTierError(reply: message) }
    return RemoteTierError(
      .failed,
      "The stream of changes holds something else. Has another program a key of this name, or written to it? Remove the key."
    )
  }
}

/// Revisions of local entries that the stream has not been read up to. It must contain each, unless a fail-over has
/// lost writes.
struct UnconfirmedRevisions: Sendable {
  /// More than a machine out of touch is likely to fetch. What does not fit in is taken for lost.
  static let limit = 1 << 16

  /// The least first, and a slice, so that both ends are fast. The same one may be there several times.
  private var revisions: ArraySlice<RemoteRevision> = []
  private(set) var greatest = RemoteRevision.none
  private var isIncomplete = false

  mutating func insert(_ revision: RemoteRevision) {
    greatest = max(greatest, revision)
    if revisions.count >= Self.limit {
      isIncomplete = true
      return
    }
    revisions.insert(revision, at: revisions.lastIndex { $0 <= revision }.map { $0 + 1 } ?? revisions.startIndex)
  }

  /// Notes the next change that was read. Returns whether none was missing before it.
  mutating func confirm(_ revision: RemoteRevision) -> Bool {
    var isComplete = true
    while let least = revisions.first, least <= revision {
      if least != revision { isComplete = false }
      revisions.removeFirst()
    }
    if revisions.isEmpty, isIncomplete {
      isIncomplete = false
      return false
    }
    return isComplete
  }
}

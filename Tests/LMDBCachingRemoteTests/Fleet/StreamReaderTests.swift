import Foundation
import Testing

@testable import LMDBCachingRemote

/// How replies move a machine's position in the stream.
@Suite struct StreamReaderTests {
  private static func text(_ text: String) -> RemoteReply { .bytes(Data(text.utf8)) }

  private static func entry(_ id: String, _ key: String = "k") -> RemoteReply {
    .array([text(id), .array([text("k"), text(key)])])
  }

  private static let primary = RemoteReply.array([text("master"), .integer(0), .array([])])
  private static let replica = RemoteReply.array([text("slave"), text("127.0.0.1"), .integer(1)])

  private static func revision(_ id: String) -> RemoteRevision { RemoteRevision(id.utf8)! }

  private static func connection(
    _ mark: String = "mark", last: String, has position: Bool, _ role: RemoteReply = primary
  ) -> [RemoteReply] {
    [text(mark), .array([entry(last)]), .array(position ? [entry("1-0")] : []), role]
  }

  private static func page(
    _ ids: [String], newest: String, mark: String = "mark", hasLast: Bool = true, _ role: RemoteReply = primary
  ) -> [RemoteReply] {
    let read: RemoteReply = ids.isEmpty ? .null : .array([.array([text("changes"), .array(ids.map { entry($0) })])])
    return [text(mark), read, .array(hasLast ? [entry("1-0")] : []), .array([entry(newest)]), role]
  }

  /// A reader that is in touch at 5-0.
  private static func connected() throws -> StreamReader {
    var reader = StreamReader(RemoteNames(prefix: "p"))
    _ = reader.connectCommands()
    #expect(try reader.didConnect(connection(last: "5-0", has: false)) == .connected(hasGap: true))
    #expect(reader.position == revision("5-0") && reader.isAtEnd)
    return reader
  }

  private static func follow(
    _ reader: inout StreamReader, _ replies: [RemoteReply]
  ) throws -> (hasGap: Bool, error: RemoteTierError?) {
    let page = try reader.didRead(replies)
    var hasGap = false
    for (revision, _) in page.changes where !reader.didFollow(revision) { hasGap = true }
    return reader.didFollow(page, hasGap: hasGap)
  }

  @Test func whatALastChangeIsMissingFor() throws {
    var reader = StreamReader(RemoteNames(prefix: "p"))
    _ = reader.connectCommands()
    func command(_ replies: [RemoteReply]) throws -> String? {
      guard case .lacks(let command) = try reader.didConnect(replies) else { return nil }
      return String(decoding: command.arguments[0], as: UTF8.self)
    }
    #expect(try command([.null, .array([]), .array([]), .error("NOPERM no")]) == "SET")
    #expect(try command([Self.text("mark"), .array([]), .array([]), Self.primary]) == "XADD")
  }

  @Test func aConnectionGoesOnWhereItWasOrHasAGap() throws {
    let cases: [(replies: [RemoteReply], hasGap: Bool)] = [
      (Self.connection(last: "9-0", has: true), false), (Self.connection(last: "9-0", has: false), true),
      (Self.connection("other", last: "9-0", has: true), true),
    ]
    for (replies, hasGap) in cases {
      var reader = try Self.connected()
      _ = reader.connectCommands()
      #expect(try reader.didConnect(replies) == .connected(hasGap: hasGap))
      #expect(reader.position == Self.revision(hasGap ? "9-0" : "5-0"))
      #expect(reader.isAtEnd == hasGap)
      #expect(reader.distance == (hasGap ? 0 : 4_000_000))
    }
  }

  @Test func whatIsStoredAndNotInTheStreamIsAGap() throws {
    // A new primary whose stream ends before it.
    var reader = try Self.connected()
    reader.note(Self.revision("7-0"))
    _ = reader.connectCommands()
    #expect(try reader.didConnect(Self.connection(last: "5-0", has: true)) == .connected(hasGap: true))
    // A new primary with other changes in its place.
    reader = try Self.connected()
    reader.note(Self.revision("7-0"))
    _ = reader.connectCommands()
    #expect(try reader.didConnect(Self.connection(last: "9-0", has: true)) == .connected(hasGap: false))
    _ = reader.readCommands(wait: .seconds(1))
    #expect(try Self.follow(&reader, Self.page(["8-0", "9-0"], newest: "9-0")).hasGap)
    // A new primary that has it.
    reader = try Self.connected()
    for _ in 0..<2 { reader.note(Self.revision("7-0")) }
    _ = reader.readCommands(wait: .seconds(1))
    #expect(try !Self.follow(&reader, Self.page(["6-0", "7-0", "8-0"], newest: "8-0")).hasGap)
    // The server behind the same connection has changed.
    reader.note(Self.revision("9-0"))
    _ = reader.readCommands(wait: .seconds(1))
    let (hasGap, error) = try Self.follow(&reader, Self.page([], newest: "8-0"))
    #expect(hasGap && error?.code == .unreachable)
    // A reply may lack changes noted while it was under way.
    reader = try Self.connected()
    _ = reader.readCommands(wait: .seconds(1))
    reader.note(Self.revision("7-0"))
    #expect(try !Self.follow(&reader, Self.page([], newest: "5-0")).hasGap)
  }

  @Test func changesThatWereForgottenAreAGap() throws {
    var reader = try Self.connected()
    _ = reader.readCommands(wait: .seconds(1))
    var (hasGap, error) = try Self.follow(&reader, Self.page(["7-0"], newest: "7-0", hasLast: false))
    #expect(hasGap && error == nil && reader.position == Self.revision("7-0"))
    _ = reader.readCommands(wait: .seconds(1))
    (hasGap, error) = try Self.follow(&reader, Self.page([], newest: "7-0", hasLast: false))
    #expect(hasGap && error != nil)
  }

  @Test func aServerThatWasEmptiedOrDemotedIsLeft() throws {
    for replies in [
      Self.page([], newest: "5-0", mark: "other"), Self.page([], newest: "5-0", Self.replica),
      [.null] + Self.page([], newest: "5-0").dropFirst(), Self.page([], newest: "5-0").dropLast(),
      [.error("NOPERM no")] + Self.page([], newest: "5-0").dropFirst(),
    ] {
      var reader = try Self.connected()
      _ = reader.readCommands(wait: .seconds(1))
      #expect(throws: RemoteTierError.self) { try reader.didRead(replies) }
    }
    // A server that was always a replica is followed, and so is one that hides its role.
    for role in [Self.replica, .error("NOPERM no")] {
      var reader = StreamReader(RemoteNames(prefix: "p"))
      _ = reader.connectCommands()
      _ = try reader.didConnect(Self.connection(last: "5-0", has: false, role))
      _ = reader.readCommands(wait: .seconds(1))
      #expect(throws: Never.self) { try reader.didRead(Self.page([], newest: "5-0", role)) }
    }
  }

  @Test func whatIsBehindSaysByHowMuch() throws {
    var reader = try Self.connected()
    _ = reader.readCommands(wait: .seconds(1))
    let ids = (0..<512).map { "6-\($0)" }
    let page = try reader.didRead(Self.page(ids, newest: "2006-0"))
    #expect(!page.isComplete && reader.distance == 2_001_000_000)
    for (revision, _) in page.changes {
      let isComplete = reader.didFollow(revision)
      #expect(isComplete)
    }
    #expect(!reader.isAtEnd && reader.distance == 2_000_000_000)
    _ = reader.readCommands(wait: .seconds(1))
    #expect(try !Self.follow(&reader, Self.page(["2006-0"], newest: "2006-0")).hasGap)
    #expect(reader.isAtEnd && reader.distance == 0)
  }

  /// A foreign entry, or a server whose clock is far ahead.
  @Test func noDistanceIsTooLong() throws {
    var reader = try Self.connected()
    _ = reader.connectCommands()
    #expect(try reader.didConnect(Self.connection(last: "17592186044415-0", has: true)) == .connected(hasGap: false))
    #expect(!reader.isAtEnd && reader.distance == .max)
  }
}

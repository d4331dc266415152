import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Read-only commands change nothing but the reader table, whatever the state of the cache, and need only read
/// permission. Commands that write refuse a cache that they cannot open as it is.
@Suite struct LookingTests {
  let scratch = try! Scratch()

  /// States of a cache with 201 entries.
  enum State: String, CaseIterable, Sendable {
    case closed
    /// Another process has it open. It is suspended, so that it changes nothing itself, and must block no reader.
    case open
    /// A process suspended in mid-transaction holds the locks that an opening or a commit needs.
    case writing
    /// A process suspended while it opens the cache.
    case opening
    case killed
    case cutOff
    /// A `fast` cache that was open when the system stopped. The tool used to try one durability after the other, and
    /// the first one discarded the cache.
    case unclean
    /// Anyone with write access to the directory controls the output.
    case writableByOthers
    case readOnlyMount
    /// As in two containers: neither sees whether the other's processes are alive, so it may not open the cache.
    case otherNamespace
    case otherUser

    static var possible: [State] {
      allCases.filter { state in
        switch state {
        case .readOnlyMount, .otherNamespace: Restriction.allowsMounting
        case .otherUser: Restriction.allowsOtherUser
        default: true
        }
      }
    }

    /// The cache cannot be read.
    var isDamaged: Bool { self == .cutOff || self == .unclean }

    /// The exit status of commands that write, with a part of the message; `nil` for 0.
    var refusal: (status: Int32, words: String)? {
      switch self {
      case .closed, .open, .writing, .killed, .otherUser: nil
      case .opening: (75, "lmdb-cache: ")
      case .cutOff, .unclean: (4, "Nothing was changed")
      case .writableByOthers: (77, "other users")
      case .readOnlyMount: (73, "read-only")
      case .otherNamespace: (75, "namespace")
      }
    }

    func startedBy(_ cache: String) -> [String] {
      switch self {
      case .readOnlyMount: Restriction.readOnly(cache)
      case .otherNamespace: ["unshare", "--pid", "--fork"]
      case .otherUser: Restriction.otherUser
      default: []
      }
    }
  }

  /// Makes the cache, and returns the process that uses it.
  private func make(_ state: State) throws -> ChildProcess? {
    var configuration = CacheConfiguration()
    if state == .unclean { configuration.durability = .fast }
    try scratch.fill(configuration) { cache in
      for number in 1_000..<1_200 { try cache.set("value \(number)", forKey: "key:\(number)") }
      try cache.set(Data(repeating: 65, count: 10_000), forKey: "large")
    }
    switch state {
    case .closed, .readOnlyMount: return nil
    case .cutOff:
      let data = scratch.cache + "/data.mdb"
      #expect(truncate(data, off_t(try Data(contentsOf: URL(fileURLWithPath: data)).count / 2)) == 0)
    case .unclean:
      try scratch.file("cache/fast-session", Data(("LMDBCFS1" + String(repeating: "x", count: 16)).utf8))
    case .writableByOthers:
      #expect(chmod(scratch.cache, 0o777) == 0)
    case .opening, .writing:
      let process = try state == .writing ? self.process() : ChildProcess("CacheTestProcess")
      #expect(process.run(state == .writing ? "stopwriting" : "stopopening \(scratch.cache)") == "stopping")
      process.awaitSuspension()
      return process
    case .open, .otherNamespace:
      let process = try process("set key:1001 new", "flush", "set key:1002 newer")
      process.suspend()
      return process
    case .killed:
      try process("set key:1001 new", "flush", "set key:1002 newer", "remove key:1003", "set last 1").kill()
    case .otherUser:
      try process("set key:1002 newer").kill()
      // Everyone may read it.
      let chmod = try ChildProcess(URL(fileURLWithPath: "/bin/chmod"), ["-R", "a+rX", scratch.cache])
      #expect(chmod.end() == .exit(0))
    }
    return nil
  }

  private func process(_ lines: String...) throws -> ChildProcess {
    let process = try ChildProcess("CacheTestProcess")
    for line in ["open \(scratch.cache) interval=86400000"] + lines { #expect(process.run(line) == "ok", "\(line)") }
    return process
  }

  private func run(_ words: [String], _ state: State) async throws -> ToolResult {
    try await Tool.run(words + ["--cache", scratch.cache], startedBy: state.startedBy(scratch.cache))
  }

  private func image() throws -> TreeImage { try TreeImage(scratch.cache, except: ["lock.mdb"]) }

  @Test(arguments: State.possible) func nothingChanges(_ state: State) async throws {
    let process = try make(state)
    let before = try image()
    for command in [
      ["ls"], ["ls", "--json", "--prefix", "key:1"], ["get", "key:1000"], ["get", "none"], ["stat"],
      ["stat", "--prefixes", "--json"], ["verify"], ["verify", "--values"],
    ] {
      let result = try await run(command, state)
      let status: Int32 = state.isDamaged ? 4 : command[1...] == ["none"] ? 1 : 0
      #expect(result.status == status, "\(command): \(result.errors)")
      #expect(result.output.isEmpty == (result.status != 0), "\(command)")
      if command == ["get", "key:1000"], result.status == 0 { #expect(result.text == "value 1000") }
      if command == ["verify"], state == .cutOff { #expect(result.errors.contains("truncated"), "\(result.errors)") }
    }
    if [.open, .otherNamespace, .killed, .otherUser].contains(state) {
      // Acknowledged writes are read, and their journal stays.
      let waiting = try await run(["get", "key:1002"], state)
      #expect(waiting.text == "newer" && waiting.errors == "")
    }
    let after = try image()
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
    process?.kill()
  }

  @Test(arguments: State.possible.filter { $0.refusal != nil })
  func aCacheThatCannotBeOpenedAsItIsIsNotChanged(_ state: State) async throws {
    let process = try make(state)
    let before = try image()
    let (status, text) = try #require(state.refusal)
    for command in ["set a b"]
      + (state.isDamaged ? ["rm key:1000", "rm --prefix key:", "trim --count 1", "clear"] : [])
    {
      let result = try await run(command.split(separator: " ").map(String.init), state)
      #expect(result.status == status && result.errors.contains(text), "\(command): \(result.errors)")
      if let process, state == .opening { #expect(result.errors.contains("\(process.identifier)")) }
      #expect(result.output.isEmpty)
      #expect(before.losses(in: try image()) == [], "\(command)")
    }
    process?.kill()
  }

  @Test(.enabled(if: Restriction.allowsOtherUser, "no other user can run the tool here"))
  func aJournalThatMayNotBeRead() async throws {
    _ = try make(.otherUser)
    let journals = scratch.cache + "/journals"
    for name in try FileManager.default.contentsOfDirectory(atPath: journals) {
      #expect(chmod(journals + "/" + name, 0o600) == 0)
    }
    let get = try await run(["get", "key:1002"], .otherUser)
    #expect(get.status == 0 && get.text == "value 1002" && get.errors.contains(journals))
    let stat = try await run(["stat"], .otherUser)
    #expect(stat.status == 1 && stat.text.contains(journals))
    #expect(chmod(scratch.cache, 0o700) == 0)
    #expect(try await run(["ls"], .otherUser).status == 77)
  }
}

import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite struct TagTests {
  let directory = CacheDirectory()

  /// Every way to check for an entry must agree.
  private func expect(
    _ value: String?, _ key: String, _ cache: LMDBCache, at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      try cache.contains(key) == (value != nil) && cache.contains(key) == (value != nil),
      sourceLocation: location)
    #expect(try (cache.entry(forKey: key) == nil) == (value == nil), sourceLocation: location)
    #expect(try cache.withoutMemory.value(String.self, forKey: key) == value, sourceLocation: location)
    #expect(try cache.withBytes(forKey: key) { $0.byteCount } == value?.utf8.count, sourceLocation: location)
    #expect(try cache.values(String.self, forKeys: [key, "nothing"]) == [value, nil], sourceLocation: location)
    #expect(try cache.value(String.self, forKey: key) == value, sourceLocation: location)
    #expect(try cache.value(String.self, forKey: key) == value, sourceLocation: location)
  }

  @Test(arguments: Place.allCases, Place.allCases)
  func whatHasATagGoesWithIt(_ place: Place, _ afterwards: Place) throws {
    let cache = try directory.open(neverCommitting)
    let long = String(repeating: "long", count: 2_000)
    try cache.set("one", forKey: "one", tags: ["red"])
    try cache.set("two", forKey: "two", tags: ["red", "blue", "red"])
    try cache.set("three", forKey: "three", tags: ["blue"])
    try cache.set("none", forKey: "none")
    try cache.set(long, forKey: "long", tags: ["red"])
    try cache.set("kept", forKey: "kept", tags: (0..<64).map { "tag \($0)" })
    try place.settle(cache)
    for (key, value) in ["one": "one", "two": "two", "three": "three", "none": "none", "long": long, "kept": "kept"] {
      try expect(value, key, cache)
    }
    if place != .memory { cache.memory.removeAll() }
    try cache.removeAll(.tag("red"))
    try afterwards.settle(cache)
    for key in ["one", "two", "long"] { try expect(nil, key, cache) }
    for key in ["three", "none", "kept"] { try expect(key, key, cache) }
    #expect(try cache.entries().map(\.key) == ["kept", "none", "three"])
    try cache.read { snapshot in
      let (two, three) = (
        try snapshot.value(String.self, forKey: "two"), try snapshot.value(String.self, forKey: "three")
      )
      #expect(two == nil && three == "three")
      let (isThere, keys) = (try snapshot.contains("one"), try snapshot.entries().map(\.key))
      #expect(!isThere && keys == ["kept", "none", "three"])
    }
    // Values stored after the removal stay.
    try cache.set("again", forKey: "one", tags: ["red"])
    try expect("again", "one", cache)
    try afterwards.settle(cache)
    try expect("again", "one", cache)
    try cache.removeAll(.tags(["tag 63", "tag 5", "unknown"]))
    try expect(nil, "kept", cache)
    try cache.close()
    let reopened = try directory.open()
    for (key, value) in ["one": "again", "three": "three", "none": "none"] { try expect(value, key, reopened) }
    for key in ["two", "long", "kept"] { try expect(nil, key, reopened) }
    try reopened.close()
  }

  @Test func tagsAreTheEntrysLastOnes() throws {
    let cache = try directory.open()
    try cache.set(1, forKey: "without", tags: ["a"])
    try cache.set(2, forKey: "without")
    try cache.set(1, forKey: "other", tags: ["a"])
    try cache.set(2, forKey: "other", expires: .after(.seconds(60)), tags: ["b"])
    try cache.set(1, forKey: "gained")
    try cache.set(2, forKey: "gained", expires: .unchanged, tags: ["a"])
    #expect(try cache.set(1, forKey: "absent", tags: ["a"], if: .absent))
    let version = try #require(try cache.entry(forKey: "other")).version
    #expect(try cache.set(3, forKey: "other", tags: ["c"], if: .version(version)))
    #expect(try cache.entry(forKey: "other")?.isTagged("c") == true)
    #expect(try cache.entry(forKey: "other")?.isTagged("b") == false)
    try cache.removeAll(.tag("a"))
    #expect(try cache.entries().map(\.key) == ["other", "without"])
    // Replacing an entry clears its tags.
    #expect(try cache.set(5, forKey: "absent", if: .absent))
    try cache.close()
  }

  enum Company: CaseIterable, Sendable { case none, process }

  @Test(arguments: Company.allCases, [true, false])
  func changesLeaveTheTags(_ company: Company, _ isInMemory: Bool) throws {
    let cache = try directory.open()
    let child = company == .none ? nil : try cacheProcess()
    if let child { #expect(child.run("open \(directory.path)") == "ok") }
    for key in ["updated", "touched", "incremented"] { try cache.set(1, forKey: key, tags: ["tag"]) }
    if !isInMemory { cache.memory.removeAll() }
    try cache.update(Int.self, forKey: "updated") { $0 = 7 }
    try cache.touch(forKey: "touched", expires: .after(.seconds(60)))
    try cache.increment(forKey: "incremented")
    for key in ["updated", "touched", "incremented"] { #expect(try cache.entry(forKey: key)?.isTagged("tag") == true) }
    #expect(try cache.value(Int.self, forKey: "updated") == 7)
    try cache.removeAll(.tag("tag"))
    #expect(try cache.entries().isEmpty)
    // An update creates a new entry without tags.
    #expect(try cache.increment(forKey: "incremented") == 1)
    try cache.removeAll(.tag("tag"))
    #expect(try cache.value(Int.self, forKey: "incremented") == 1)
    child?.end()
    try cache.close()
  }

  @Test func objectsAndBatches() throws {
    let cache = try directory.open()
    try cache.setObject(NSString("object"), forKey: "object", tags: ["tag"])
    try cache.setObject(CacheValue.make([1, 2]), forKey: "value", tags: ["tag"])
    try cache.write { batch in
      batch.set("before", forKey: "before", expires: .never, tags: ["tag"])
      batch.removeAll(.tag("tag"))
      batch.set("after", forKey: "after", expires: .after(.seconds(60)), tags: ["tag"])
    }
    #expect(try cache.entries().map(\.key) == ["after"])
    #expect(try cache.object(forKey: "object") == nil)
    #expect(try cache.value([Int].self, forKey: "value") == nil)
    #expect(try cache.entry(forKey: "after")?.expiration != nil)
    #expect(errorCode { try cache.write { $0.set(1, forKey: "key", expires: .unchanged) } } == .invalidArgument)
    try cache.close()
  }

  @Test func limits() throws {
    let cache = try directory.open()
    #expect(errorCode { try cache.set(1, forKey: "key", tags: (0...64).map(String.init)) } == .invalidArgument)
    #expect(try !cache.contains("key"))
    // Includes the empty tag, a long tag, and tags equal as strings but not as bytes.
    let long = String(repeating: "t", count: 100_000)
    try cache.set(1, forKey: "key", tags: ["", long, "é"])
    try cache.removeAll(.tag("e\u{301}"))
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    #expect(try cache.entry(forKey: "key")?.isTagged(long) == true)
    try cache.removeAll(.tag(""))
    #expect(try !cache.contains("key"))
    // A key in the record, an expiry, a wide cost and a value in the log.
    let key = String(repeating: "k", count: 3_000)
    let value = Data(repeating: 7, count: 50_000)
    try cache.set(value, forKey: key, expires: .after(.seconds(60)), cost: 1 << 40, tags: ["a", "b"])
    cache.memory.removeAll()
    #expect(try cache.value(Data.self, forKey: key) == value)
    #expect(try cache.entry(forKey: key)?.cost == 1 << 40)
    try cache.removeAll(.tag("b"))
    #expect(try cache.value(Data.self, forKey: key) == nil)
    try cache.close()
    #expect(errorCode { try cache.removeAll(.tag("a")) } == .closed)
  }

  @Test func upkeepTakesOutWhatIsRemoved() throws {
    let cache = try directory.open()
    for index in 0..<1_000 { try cache.set(index, forKey: "\(index)", tags: ["\(index % 10)"]) }
    for index in 0..<100 { try cache.set(Data(repeating: 1, count: 10_000), forKey: "long \(index)", tags: ["3"]) }
    try cache.flush()
    try cache.removeAll(.tag("3"))
    #expect(try eventually { try cache.count == 900 })
    #expect(try eventually { try !cache.store.database.tagStatus().isSweepDue })
    #expect(cache.statistics.diskEvictions == 0 && cache.statistics.expirations == 0)
    #expect(try cache.store.database.valueUsage().bytes == 0)
    for index in 0..<1_000 { #expect(try cache.value(Int.self, forKey: "\(index)") == (index % 10 == 3 ? nil : index)) }
    // A trim sweeps too, for any goal.
    try cache.removeAll(.tag("4"))
    try cache.disk.trim(to: .count(850))
    #expect(try cache.count == 800)
    try cache.removeAll(.tag("5"))
    try cache.disk.trim(to: .limits)
    #expect(try cache.count == 700)
    try cache.close()
  }

  @Test func theNextProcessSweeps() throws {
    let cache = try directory.open(neverCommitting)
    for index in 0..<100 { try cache.set(index, forKey: "\(index)", tags: ["tag"]) }
    try cache.removeAll(.tag("tag"))
    let crashed = directory.crashed(cache)
    try cache.close()
    for place in [directory, crashed] {
      let next = try place.open()
      #expect(try next.entries().isEmpty)
      #expect(try eventually { try next.count == 0 })
      try next.close()
    }
  }

  /// Removals are forgotten after a while; writes delayed longer than that are dropped.
  @Test func removalsAreForgotten() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    for index in 0..<100 {
      try cache.set(index, forKey: "\(index)", tags: ["\(index)", "all"])
      try cache.removeAll(.tag("\(index)"))
    }
    try cache.set("stays", forKey: "stays", tags: ["all"])
    try cache.disk.trim(to: .limits)
    func removals() throws -> Int { try cache.store.database.tagRemovals().removals.count }
    func maintain() throws {
      cache.store.enqueueMaintenance()
      try cache.store.onWriterThread { .success(()) }
    }
    try maintain()
    #expect(try removals() == 100)
    clock.advance(by: .seconds(3_700))
    try maintain()
    #expect(try removals() == 0)
    #expect(try cache.entries().map(\.key) == ["stays"])
    #expect(try cache.value(String.self, forKey: "stays") == "stays")
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "stays") == "stays")
    let status = try cache.store.database.tagStatus()
    #expect(status.forgotten > 0 && status.forgotten <= status.swept && status.swept <= status.last)
    // Written before the removal, committed after it.
    try cache.store.onWriterThread { [store = cache.store] in
      outcome { () throws(CacheError) in
        try store.database.transact("A late write") { (session) throws(LMDBError) in
          for (key, tags, stamp) in [
            ("late", ["new"], status.forgotten), ("stays", ["new"], status.forgotten), ("plain", [], status.forgotten),
            ("new", ["new"], status.forgotten + 1),
          ] {
            var header = RecordHeader(format: .bytes, expires: 0, now: 1, cost: 1)
            let tags = (try? EntryTags.make(tags)) ?? nil
            header.tags = tags?.hashes
            let record = withExtendedLifetime(tags) {
              Array(key.utf8).withBytes { utf8 in
                CacheKey.with(key) { PreparedPut($0, header, utf8).record(stamp: stamp) }
              }
            }
            try record.withBytes { (record) throws(LMDBError) in
              try Array(key.utf8).withBytes { (key) throws(LMDBError) in try session.put(record, forKey: key) }
            }
          }
        }
      }
    }
    // The surviving entry has a later stamp: another process wrote and committed it first.
    #expect(try cache.entries().map(\.key) == ["new", "plain", "stays"])
    #expect(try cache.value(String.self, forKey: "stays") == "stays")
    try cache.close()
  }

  @Test func removingAllForgetsTags() throws {
    let cache = try directory.open()
    for index in 0..<10 { try cache.removeAll(.tag("\(index)")) }
    try cache.set(1, forKey: "key", tags: ["0"])
    try cache.removeAll()
    try cache.set(2, forKey: "key", tags: ["0"])
    try cache.removeAll(.tag("1"))
    try cache.flush()
    #expect(try cache.store.database.tagRemovals().removals.count == 1)
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    // Trimming everything keeps the removals, because other processes may still commit.
    try cache.removeAll(.tag("2"))
    try cache.disk.trim(to: .count(0))
    #expect(try cache.store.database.tagRemovals().removals.count == 2)
    try cache.close()
  }

  @Test func aLoadIsNoNewerThanItsBeginning() throws {
    let cache = try directory.open()
    var options = LoadOptions(lifetime: .seconds(60))
    options.tags = ["tag"]
    let value = try cache.value(String.self, forKey: "key", options: options) { _ in
      try cache.removeAll(.tag("tag"))
      return "loaded"
    }
    #expect(value == "loaded")
    #expect(try !cache.contains("key"))
    #expect(
      try cache.value(String.self, forKey: "key", options: options) {
        $0.tags.append("own"); return "again"
      } == "again")
    #expect(try cache.entry(forKey: "key")?.isTagged("own") == true)
    try cache.removeAll(.tag("own"))
    #expect(try !cache.contains("key"))
    options.absenceLifetime = .seconds(60)
    #expect(try cache.optionalValue(String.self, forKey: "absent", options: options) { _ in nil } == nil)
    #expect(try cache.optionalValue(String.self, forKey: "absent", options: options) { _ in "there" } == nil)
    try cache.removeAll(.tag("tag"))
    #expect(try cache.optionalValue(String.self, forKey: "absent", options: options) { _ in "there" } == "there")
    try cache.close()
  }

  @Test func aRemovalByTagIsTold() async throws {
    let cache = try directory.open()
    try cache.set(1, forKey: "key", tags: ["tag"])
    var values = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    #expect(try await values.next() == 1)
    try await cache.removeAll(.tag("tag"))
    #expect(try await values.next() == .some(nil))
    try cache.set(2, forKey: "key", tags: ["tag"])
    #expect(try await values.next() == 2)
    try await cache.close()
  }

  @Test func aFullDisk() throws {
    let cache = try directory.open()
    let value = String(repeating: "v", count: 5_000)
    try cache.set("first", forKey: "first", tags: ["tag"])
    try cache.flush()
    let session = FaultInjection.begin(
      .directory(directory.path),
      [.init(.pwrite, returns: ENOSPC, count: .max), .init(.fallocate, returns: ENOSPC, count: .max)])
    for key in ["gone", "other", "kept"] { try cache.set(value, forKey: key, tags: [key]) }
    #expect(try cache.value(String.self, forKey: "gone") == value)
    try cache.removeAll(.tags(["gone", "tag"]))
    for key in ["gone", "first"] {
      #expect(try !cache.contains(key))
      #expect(try cache.value(String.self, forKey: key) == nil)
      #expect(try cache.value(Int.self, forKey: key) == nil)
    }
    #expect(try cache.value(String.self, forKey: "kept") == value)
    #expect(try cache.contains("other"))
    FaultInjection.end(session)
    #expect(eventually { errorCode { try cache.flush() } == nil })
    #expect(try cache.entries().map(\.key) == ["kept", "other"])
    try cache.close()
  }

  /// Tags that share a marker word must not lose entries.
  @Test func tagsThatShareAWord() throws {
    let cache = try directory.open()
    func group(_ tag: String) -> UInt64 { EntryTags.hash(tag) >> 52 }
    let first = "tag"
    let second = try #require((0...).lazy.map { "other \($0)" }.first { group($0) == group(first) })
    try cache.set(1, forKey: "key", tags: [second])
    try cache.removeAll(.tag(first))
    let reads = cache.statistics.diskHits
    for _ in 0..<10 { #expect(try cache.value(Int.self, forKey: "key") == 1) }
    // After one disk check, memory serves it again.
    #expect(cache.statistics.diskHits == reads)
    #expect(cache.statistics.memoryHits >= 10)
    try cache.removeAll(.tag(second))
    #expect(try cache.value(Int.self, forKey: "key") == nil)
    try cache.close()
  }

  // MARK: Against a model

  private enum Step {
    case set(Int, tags: [String], size: Int)
    case remove(Int)
    case removeTags([String])
    case removeAll
    case batch(Int, tags: [String], removing: String)
    case flush, forget, trim, reopen
  }

  private func step(_ random: inout SeededRandom) -> Step {
    func tags() -> [String] {
      (0..<Int.random(in: 0...3, using: &random)).map { _ in "tag \(Int.random(in: 0..<6, using: &random))" }
    }
    let key = Int.random(in: 0..<40, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50: return .set(key, tags: tags(), size: Int.random(in: 0..<10, using: &random) == 0 ? 4_000 : 20)
    case 50..<55: return .remove(key)
    case 55..<70: return .removeTags(tags())
    case 70..<71: return .removeAll
    case 71..<80: return .batch(key, tags: tags(), removing: "tag \(Int.random(in: 0..<6, using: &random))")
    case 80..<88: return .flush
    case 88..<94: return .forget
    case 94..<98: return .trim
    default: return .reopen
    }
  }

  @Test(arguments: 1...12) func asAModelSays(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    var cache = try directory.open(seed % 2 == 0 ? neverCommitting : { _ in })
    var model: [Int: (value: String, tags: [String])] = [:]
    for number in 0..<600 {
      switch step(&random) {
      case .set(let key, let tags, let size):
        let value = payload("\(key)", number, size)
        try cache.set(value, forKey: "\(key)", tags: tags)
        model[key] = (value, tags)
      case .remove(let key):
        try cache.removeValue(forKey: "\(key)")
        model[key] = nil
      case .removeTags(let tags):
        try cache.removeAll(.tags(tags))
        model = model.filter { entry in !entry.value.tags.contains(where: tags.contains) }
      case .removeAll:
        try cache.removeAll()
        model = [:]
      case .batch(let key, let tags, let removed):
        let value = payload("\(key)", number, 20)
        try cache.write { batch in
          batch.removeAll(.tag(removed))
          batch.set(value, forKey: "\(key)", expires: .never, tags: tags)
        }
        model = model.filter { !$0.value.tags.contains(removed) }
        model[key] = (value, tags)
      case .flush: try cache.flush()
      case .forget: cache.memory.removeAll()
      case .trim: try cache.disk.trim(to: .limits)
      case .reopen:
        try cache.close()
        cache = try directory.open(neverCommitting)
      }
      let key = Int.random(in: 0..<40, using: &random)
      #expect(try cache.value(String.self, forKey: "\(key)") == model[key]?.value, "after \(number) steps")
      if number % 50 == 49 {
        #expect(try cache.entries().map(\.key) == model.keys.map(String.init).sorted(), "after \(number) steps")
      }
    }
    cache.store.journal.lock.withLock { cache.store.journal._checkInvariants() }
    try cache.close()
  }
}

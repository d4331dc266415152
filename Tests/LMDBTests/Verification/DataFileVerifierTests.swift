import Foundation
import TestSupport
import Testing

@testable import LMDB

/// Accepts what LMDB writes, and rejects any changed field.
@Suite struct DataFileVerifierTests {
  let directory = TemporaryDirectory()

  private func verify() throws -> VerifiedDataFile? { try DataFileVerifier.verify(directory: directory.path) }

  // MARK: Sound files

  @Test func emptyDatabases() throws {
    #expect(try verify() == nil)
    let environment = try directory.open()
    let new = try #require(try verify())
    #expect(new.entries == 0 && new.pages == 2 && new.transactionID == 0 && new.depth == 0)
    try environment.put([1], [1])
    let one = try #require(try verify())
    #expect(one.entries == 1 && one.depth == 1 && one.leafPages == 1 && one.branchPages == 0)
    #expect(one.unreferencedPages == 0)
    environment.close()
    var image = DataFileImage(directory.path)
    image.bytes = []
    image.write()
    #expect(try verify() == nil)
  }

  @Test func manyLevelsOfLongKeysAndNamedDatabases() throws {
    let environment = try directory.open { ($0.mapSize, $0.maxDatabases) = (256 << 20, 3) }
    var random = SeededRandom(1)
    let names = try ["a", "b", "c"].map { try environment.openDatabase(named: $0) }
    let write = try environment.beginWrite()
    for _ in 0..<9_000 { try write.put([1, 2, 3], random.bytes(500)) }
    for number in 0..<500 {
      for database in names.dropLast() {
        try write.put([UInt8](repeating: 1, count: number * 20), bytes("\(number)"), in: database)
      }
    }
    try write.commit()
    environment.close()
    let file = try #require(try verify())
    #expect(file.depth >= 5 && file.entries == 9_003 && file.overflowPages > 100 && file.unreferencedPages == 0)
  }

  @Test func freePagesThatAReaderHolds() throws {
    let environment = try directory.open()
    try environment.put([1], [1])
    try environment.withReadTransaction { _ throws(LMDBError) in
      for round in UInt8(0)..<60 {
        let write = try environment.beginWrite()
        for key in UInt8(0)..<100 { try write.put([UInt8](repeating: round, count: 2_000), [key]) }
        try write.commit()
      }
      let file = try? DataFileVerifier.verify(directory: directory.path)
      #expect(file.map { $0.freePages > 3_000 && $0.unreferencedPages == 0 } == true)
    }
    environment.close()
  }

  /// LMDB leaves pages unwritten that a transaction allocates and frees, so the file may end before them.
  @Test func freePagesPastTheEndOfTheFile() throws {
    let environment = try directory.open()
    // Creates free pages for reuse.
    for number in UInt8(1)...6 { try environment.put([number], [1]) }
    let write = try environment.beginWrite()
    try write.put([7], [1])
    try write.put([UInt8](repeating: 1, count: 200_000), [2])
    #expect(try write.remove([2]))
    try write.commit()
    environment.close()
    let file = try #require(try verify())
    #expect(file.size < file.pages * file.pageSize)
    #expect(try DataFileVerifier.checkMeta(directory: directory.path)?.isWhole == false)
  }

  // MARK: Damage

  /// Three levels, large values, and free pages.
  private func makeDatabase() throws {
    let environment = try directory.open()
    let write = try environment.beginWrite()
    for number in 1_000..<1_900 {
      let key = bytes("key \(number)") + [UInt8](repeating: 9, count: 300)
      try write.put([UInt8](repeating: 1, count: number % 40 == 0 ? 30_000 : 50), key)
    }
    try write.commit()
    for number in [1_100, 1_200, 1_500] {
      let write = try environment.beginWrite()
      _ = try write.remove(bytes("key \(number)") + [UInt8](repeating: 9, count: 300))
      try write.commit()
    }
    environment.close()
    let file = try #require(try verify())
    #expect(file.depth == 3 && file.freePages > 2 && file.overflowPages > 8)
  }

  struct Damage: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let kinds: Set<DataFileFinding.Kind>
    let change: @Sendable (inout DataFileImage) -> Void

    init(
      _ description: String, _ kinds: DataFileFinding.Kind...,
      change: @escaping @Sendable (inout DataFileImage) -> Void
    ) {
      testDescription = description
      self.kinds = Set(kinds)
      self.change = change
    }
  }

  static let damages: [Damage] =
    metaDamages + levelDamages(0) + levelDamages(1) + levelDamages(2) + referenceDamages + freeListDamages

  private static let freeListDamages: [Damage] =
    [
      Damage("free list: a page in use is free", .doubleUse) { image in
        image.store(image.freeList + 8, UInt64(image.spine[0] / image.pageSize))
        image.store(image.freeList, 1 as UInt64)
      },
      Damage("free list: a page twice", .freeList) { image in
        image.store(image.freeList + 16, image.load(image.freeList + 8, UInt64.self))
      },
      Damage("free list: a page past the last", .freeList) { $0.store($0.freeList + 8, UInt64($0.lastPage + 1)) },
      Damage("free list: a meta page", .freeList, .doubleUse) { image in
        image.store(image.freeList + 8, 1 as UInt64)
        image.store(image.freeList, 1 as UInt64)
      },
      Damage("free list: more pages than the record holds", .freeList) { $0.store($0.freeList, UInt64.max) },
      Damage("free list: of a transaction to come", .freeList, .keyOrder) { image in
        image.store(image.node(0, of: image.freeSpine.last!) + 8, 1_000 as UInt64)
      },
      Damage("free list: a key of two bytes", .node) { $0.store($0.node(0, of: $0.freeSpine.last!) + 6, 2 as UInt16) },
      Damage("cut in the middle", .truncated) { $0.bytes.removeLast($0.bytes.count / 2) },
      Damage("cut by a byte", .truncated) { $0.bytes.removeLast() },
      Damage("cut in the first page", .notDatabase) { $0.bytes.removeLast($0.bytes.count - 100) },
    ]

  private static let metaDamages: [Damage] = [
    Damage("first magic", .meta) { $0.store(16, 1 as UInt32) },
    Damage("second magic", .notDatabase) { $0.store($0.pageSize + 16, 1 as UInt32) },
    Damage("first version", .meta) { $0.store(20, 2 as UInt32) },
    Damage("second version", .meta) { $0.store($0.pageSize + 20, 9 as UInt32) },
    Damage("both versions", .version) {
      $0.store($0.pageSize + 20, 2 as UInt32); $0.store(20, 2 as UInt32)
    },
    Damage("number of a meta page", .pageNumber) { $0.store($0.otherMeta, 5 as UInt64) },
    Damage("flags of a meta page", .pageFlags) { $0.store($0.otherMeta + 10, 0 as UInt16) },
    Damage("page size odd", .pageSize) { $0.store(40, 4097 as UInt32) },
    Damage("page size doubled", .pageSize, .notDatabase) { $0.store(40, UInt32(2 * $0.pageSize)) },
    Damage("second page size", .pageSize) { $0.store($0.pageSize + 40, 8192 as UInt32) },
    Damage("map size", .meta) { $0.store($0.meta + 32, 4096 as UInt64) },
    Damage("last page less", .pageNumber, .freeList) { $0.change($0.meta + 136, UInt64.self) { $0 - 1 } },
    Damage("last page more", .truncated) { $0.change($0.meta + 136, UInt64.self) { $0 + 1 } },
    Damage("last page huge", .meta) { $0.store($0.meta + 136, UInt64.max) },
    Damage("last page far", .truncated, .meta) { $0.store($0.meta + 136, 1 << 23 as UInt64) },
    Damage("transaction of the other parity", .meta) { $0.change($0.meta + 144, UInt64.self) { $0 + 1 } },
    Damage("transaction behind", .meta) { $0.change($0.meta + 144, UInt64.self) { $0 - 4 } },
    Damage("flags of the free list", .meta) { $0.store($0.free + 4, 0 as UInt16) },
    Damage("flags of the database", .unsupported) { $0.store($0.main + 4, 4 as UInt16) },
    Damage("padding of the database", .unsupported) { $0.store($0.main, 4 as UInt32) },
    Damage("depth less", .pageFlags) { $0.change($0.main + 6, UInt16.self) { $0 - 1 } },
    Damage("depth more", .pageFlags) { $0.change($0.main + 6, UInt16.self) { $0 + 1 } },
    Damage("depth huge", .depth) { $0.store($0.main + 6, UInt16.max) },
    Damage("free list's depth", .pageFlags, .depth) { $0.store($0.free + 6, 9 as UInt16) },
    Damage("branch pages", .statistics) { $0.change($0.main + 8, UInt64.self) { $0 + 1 } },
    Damage("leaf pages", .statistics) { $0.change($0.main + 16, UInt64.self) { $0 - 1 } },
    Damage("overflow pages", .statistics) { $0.change($0.main + 24, UInt64.self) { $0 + 1 } },
    Damage("entries", .statistics) { $0.store($0.main + 32, UInt64.max) },
    Damage("free list's entries", .statistics) { $0.change($0.free + 32, UInt64.self) { $0 + 1 } },
    Damage("root in a meta page", .pageNumber) { $0.store($0.main + 40, 1 as UInt64) },
    Damage("root past the end", .pageNumber) { $0.store($0.main + 40, UInt64($0.lastPage + 1)) },
    Damage("no root", .depth) { $0.store($0.main + 40, UInt64.max) },
    Damage("the free list's root is the database's", .freeList, .pageFlags, .node) {
      $0.store($0.free + 40, $0.load($0.main + 40, UInt64.self))
    },
  ]

  private static func levelDamages(_ level: Int) -> [Damage] {
    [
      Damage("level \(level): number", .pageNumber) { $0.change($0.spine[level], UInt64.self) { $0 ^ 1 } },
      Damage("level \(level): no flags", .pageFlags) { $0.store($0.spine[level] + 10, 0 as UInt16) },
      Damage("level \(level): lower odd", .bounds) { $0.change($0.spine[level] + 12, UInt16.self) { $0 + 1 } },
      Damage("level \(level): lower less", .bounds) { $0.change($0.spine[level] + 12, UInt16.self) { $0 - 2 } },
      Damage("level \(level): no entries", .node) { $0.store($0.spine[level] + 12, 16 as UInt16) },
      Damage("level \(level): upper more", .node) { $0.change($0.spine[level] + 14, UInt16.self) { $0 + 2 } },
      Damage("level \(level): upper past the page", .bounds) { $0.store($0.spine[level] + 14, UInt16.max) },
      Damage("level \(level): entry past the page", .node) { $0.store($0.spine[level] + 16, UInt16.max) },
      Damage("level \(level): entry in the free room", .node) { $0.store($0.spine[level] + 16, 16 as UInt16) },
      Damage("level \(level): key huge", .node) { $0.store($0.node(1, of: $0.spine[level]) + 6, UInt16.max) },
      Damage("level \(level): key empty", .node, .bounds) { image in
        image.store(image.node(1, of: image.spine[level]) + 6, 0 as UInt16)
      },
      Damage("level \(level): key greater", .keyOrder) { $0.store($0.node(1, of: $0.spine[level]) + 8, 0xFF as UInt8) },
      Damage("level \(level): key less", .keyOrder) { image in
        let page = image.spine[level]
        image.store(image.node(image.count(of: page) - 1, of: page) + 8, 0 as UInt8)
      },
    ]
  }

  private static let referenceDamages: [Damage] = [
    Damage("branch: child in use", .doubleUse, .pageFlags) { image in
      let page = image.spine[0]
      image.store(image.node(1, of: page), image.load(image.node(0, of: page), UInt32.self))
    },
    Damage("branch: children exchanged", .keyOrder) { image in
      let page = image.spine[1]
      let (first, second) = (image.node(0, of: page), image.node(1, of: page))
      let number = image.load(first, UInt32.self)
      image.store(first, image.load(second, UInt32.self))
      image.store(second, number)
    },
    Damage("branch: child past the end", .pageNumber) { $0.store($0.node(0, of: $0.spine[1]) + 4, 1 as UInt16) },
    Damage("branch: child is free", .doubleUse) { image in
      image.store(image.node(0, of: image.spine[1]), UInt32(image.load(image.freeList + 8, UInt64.self)))
    },
    Damage("leaf: value huge", .node) { $0.store($0.node(1, of: $0.spine[2]), UInt32.max) },
    Damage("leaf: value longer", .bounds, .node) { $0.change($0.node(1, of: $0.spine[2]), UInt32.self) { $0 + 2 } },
    Damage("leaf: unknown flags", .unsupported) { $0.store($0.node(1, of: $0.spine[2]) + 4, 4 as UInt16) },
    Damage("leaf: a database", .node) { $0.store($0.node(1, of: $0.spine[2]) + 4, 2 as UInt16) },
    Damage("leaf: two entries in one place", .bounds, .keyOrder) { image in
      image.store(image.spine[2] + 18, image.load(image.spine[2] + 16, UInt16.self))
    },
    Damage("large value: longer than its pages", .overflow) { $0.change($0.large.node, UInt32.self) { $0 + 4096 } },
    Damage("large value: page 0", .overflow) { $0.store($0.data($0.large.node), 0 as UInt64) },
    Damage("large value: past the end", .overflow) { $0.store($0.data($0.large.node), UInt64.max) },
    Damage("large value: in a leaf", .pageFlags) { image in
      image.store(image.data(image.large.node), UInt64(image.spine[1] / image.pageSize))
    },
    Damage("large value: number", .pageNumber) { $0.store($0.large.page, 1 as UInt64) },
    Damage("large value: flags", .pageFlags) { $0.store($0.large.page + 10, 2 as UInt16) },
    Damage("large value: fewer pages", .overflow) { $0.change($0.large.page + 12, UInt32.self) { $0 - 1 } },
    Damage("large value: more pages", .doubleUse, .statistics, .pageNumber, .truncated) {
      $0.change($0.large.page + 12, UInt32.self) { $0 + 1 }
    },
    Damage("large value: billions of pages", .overflow) { $0.store($0.large.page + 12, UInt32.max) },
  ]

  @Test(arguments: damages) func aChangedFieldIsFound(_ damage: Damage) throws {
    try makeDatabase()
    var image = DataFileImage(directory.path)
    damage.change(&image)
    image.write()
    let finding = try #require(self.finding())
    #expect(damage.kinds.contains(finding.kind), "\(finding)")
    #expect(finding.detail.isEmpty == false)
  }

  private func finding() -> DataFileFinding? {
    do throws(DataFileError) {
      _ = try DataFileVerifier.verify(directory: directory.path)
      return nil
    } catch {
      guard case .finding(let finding) = error else { return nil }
      return finding
    }
  }

  /// Random bytes get an answer, and never trap.
  @Test(arguments: [UInt64](1...4)) func noiseIsAnswered(_ seed: UInt64) throws {
    try makeDatabase()
    let whole = DataFileImage(directory.path)
    var random = SeededRandom(seed)
    var found = 0
    for round in 0..<300 {
      var image = whole
      let page = Int.random(in: 0...whole.lastPage, using: &random)
      let place = round % 3 == 0 ? Int.random(in: 0...1, using: &random) : page
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let range = round % 2 == 0 ? 0..<160 : 0..<whole.pageSize
        let offset = place * whole.pageSize + Int.random(in: range, using: &random)
        image.bytes[offset] = UInt8.random(in: .min ... .max, using: &random)
      }
      image.write()
      if finding() != nil { found += 1 }
    }
    #expect(found > 60)
  }

  /// A sparse file of a terabyte that claims far more pages.
  @Test func whatAFileClaimsTakesNoMemory() throws {
    let environment = try directory.open()
    try environment.put([1], [1])
    environment.close()
    var image = DataFileImage(directory.path)
    let size = 1 << 40
    let last = UInt64(size / image.pageSize + size / 8 - 1)
    for meta in [image.meta, image.otherMeta] {
      image.store(meta + 32, (last + 1) * UInt64(image.pageSize))
      image.store(meta + 136, last)
    }
    image.write()
    try #require(truncate(image.path, off_t(size)) == 0)
    #expect(finding()?.kind == .truncated)
  }

  @Test func aFileThatCannotBeReadIsNoFinding() throws {
    _ = directory.makeDirectory("data.mdb")
    let failure = #expect(throws: DataFileError.self) { try DataFileVerifier.verify(directory: directory.path) }
    guard case .unreadable = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  // MARK: Beside a writer

  private static func finding(_ number: Int) -> DataFileError {
    .finding(DataFileFinding(.meta, page: 0, "transactions \(number) and \(number + 3) do not follow each other"))
  }

  /// Findings that change are not believed, and two equal ones may be chance.
  @Test func onlyWhatStaysIsBelieved() throws {
    var looks = 0
    let result = try DataFileVerifier.settled(pause: 0) { () throws(DataFileError) in
      looks += 1
      if looks < 40 { throw Self.finding(looks / 2) }
      return "sound"
    }
    #expect(result == "sound" && looks == 40)
    looks = 0
    let error = #expect(throws: DataFileError.self) {
      try DataFileVerifier.settled(pause: 0) { () throws(DataFileError) -> Void in
        looks += 1
        throw Self.finding(looks < 3 ? looks : 7)
      }
    }
    #expect(error == Self.finding(7) && looks == 7)
  }
}

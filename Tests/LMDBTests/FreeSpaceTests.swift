#if os(Linux)
  import LMDB
  import Platform
  import TestSupport
  import Testing

  /// Punches holes into free pages.
  @Suite struct FreeSpaceTests {
    let directory = TemporaryDirectory()

    private func open() throws -> Environment { try directory.open { $0.mapSize = 256 << 20 } }

    private func key(_ number: Int) -> [UInt8] { Array("key \(number)".utf8) }
    private func value(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 9_000) }

    private func fill(_ environment: Environment, _ numbers: Range<Int>) throws {
      for number in numbers { try environment.put(value(number), key(number)) }
    }

    private func remove(_ environment: Environment, _ numbers: Range<Int>) throws(LMDBError) {
      let transaction = try environment.beginWrite()
      for number in numbers { _ = try transaction.remove(key(number)) }
      try transaction.commit()
    }

    private func expect(_ environment: Environment, _ numbers: Range<Int>) throws {
      for number in numbers { #expect(try environment.value(key(number)) == value(number)) }
    }

    private var allocated: Int {
      get throws { try #require(try Directory(path: directory.path).status(of: "data.mdb")).allocatedBytes }
    }

    /// The pages of a state may be reused after two later commits.
    private func commitTwice(_ environment: Environment) throws(LMDBError) {
      for number in 0..<2 { try environment.put([1], key(-1 - number)) }
    }

    @Test func whatIsFreeTakesNoSpace() throws {
      let environment = try open()
      try fill(environment, 0..<2_000)
      let before = try allocated
      try environment.withReadTransaction { (snapshot) throws(LMDBError) in
        try remove(environment, 10..<2_000)
        try commitTwice(environment)
        // Kept for the snapshot.
        _ = try environment.punchFreePages(within: .max)
        for number in 0..<2_000 {
          let found = try snapshot.value(key(number))
          #expect(found == value(number))
        }
      }
      try commitTwice(environment)
      // In parts.
      var (next, parts, bytes) = (UInt64?.some(0), 0, 0)
      while let first = next {
        let progress = try environment.punchFreePages(from: first, within: parts == 0 ? -1 : .max)
        (next, parts, bytes) = (progress.next, parts + 1, bytes + progress.bytes)
      }
      #expect(parts == 2 && bytes > before / 2)
      #expect(try allocated < before / 4)
      // Reuses the pages.
      try fill(environment, 2_000..<3_900)
      for numbers in [0..<10, 2_000..<3_900] { try expect(environment, numbers) }
      environment.close()
      _ = try DataFileVerifier.verify(directory: directory.path)
    }

    /// A power cut may lose the last commit's meta page (`MDB_NOMETASYNC`); the previous state must stay whole.
    @Test(arguments: [0, 1, 2]) func theStateBeforeTheLastCommitStays(_ laterCommits: Int) throws {
      let environment = try open()
      // The meta page of each commit, which the next but one overwrites.
      var metas: [(offset: Int, page: [UInt8])] = []
      func note() {
        let image = DataFileImage(directory.path)
        metas.append((image.meta, Array(image.bytes[image.meta..<image.meta + image.pageSize])))
      }
      try fill(environment, 0..<800)
      for number in 0..<2 {
        try environment.put([1], key(-1 - number))
        note()
      }
      try remove(environment, 100..<800)
      note()
      for number in 0..<laterCommits {
        try environment.put([2], key(-1 - number))
        note()
      }
      let progress = try environment.punchFreePages(within: .max)
      #expect((progress.bytes > 4_000_000) == (laterCommits > 0))
      environment.close()

      var image = DataFileImage(directory.path)
      let lost = metas[metas.count - 3]
      #expect(image.meta == lost.offset)
      image.bytes.replaceSubrange(lost.offset..<lost.offset + lost.page.count, with: lost.page)
      image.write()
      _ = try DataFileVerifier.verify(directory: directory.path)
      let found = try open()
      try expect(found, 0..<(laterCommits == 0 ? 800 : 100))
      found.close()
    }
  }
#endif

#if os(Linux)
  import LMDB
  import Platform
  import TestSupport
  import Testing

  /// Punches holes into free pages.
  @Suite struct FreeSpaceTests {
    let directory = TemporaryDirectory()

    private func open() throws -> Environment {
      var options = Environment.Options()
      options.mapSize = 256 << 20
      options.syncMode = .noSync
      return try Environment.open(directory: directory.path, options: options)
    }

    private func key(_ number: Int) -> [UInt8] { Array("key \(number)".utf8) }
    private func value(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 9_000) }

    private func fill(_ environment: Environment, _ numbers: Range<Int>) throws {
      for number in numbers { try environment.put(value(number), key(number)) }
    }

    private func remove(_ environment: Environment, _ numbers: Range<Int>) throws {
      let transaction = try environment.beginWrite()
      for number in numbers {
        _ = try transaction.remove(key(number))
      }
      try transaction.commit()
    }

    private func expect(_ environment: Environment, _ numbers: Range<Int>) throws {
      for number in numbers { #expect(try environment.value(key(number)) == value(number)) }
    }

    private var allocated: Int {
      get throws { try #require(try Directory(path: directory.path).status(of: "data.mdb")).allocatedBytes }
    }

    @Test func whatIsFreeTakesNoSpace() throws {
      let environment = try open()
      try fill(environment, 0..<2_000)
      try remove(environment, 10..<2_000)
      let before = try allocated
      // Kept for readers of the state before the last commit.
      _ = try environment.punchFreePages(within: .max)
      #expect(try allocated > before / 2)
      for number in 0..<2 { try environment.put([1], key(-1 - number)) }
      let progress = try environment.punchFreePages(within: .max)
      #expect(progress.next == nil)
      #expect(progress.bytes > before / 2)
      #expect(try allocated < before / 4)
      try expect(environment, 0..<10)
      // Reuses the pages.
      try fill(environment, 2_000..<3_900)
      try expect(environment, 2_000..<3_900)
      try expect(environment, 0..<10)
      environment.close()
      _ = try DataFileVerifier.verify(directory: directory.path)
    }

    @Test func itCanBeDoneInParts() throws {
      let environment = try open()
      try fill(environment, 0..<1_000)
      // Frees pages between used ones.
      let transaction = try environment.beginWrite()
      for number in stride(from: 0, to: 1_000, by: 2) {
        _ = try transaction.remove(key(number))
      }
      try transaction.commit()
      for number in 0..<2 { try environment.put([1], key(-1 - number)) }
      let before = try allocated
      var next: UInt64? = 0
      var parts = 0
      while let first = next {
        let progress = try environment.punchFreePages(from: first, within: parts == 0 ? -1 : .max)
        parts += 1
        #expect(progress.next == nil || parts == 1)
        next = progress.next
      }
      #expect(parts == 2)
      #expect(try allocated < before * 3 / 4)
      for number in stride(from: 1, to: 1_000, by: 2) { #expect(try environment.value(key(number)) == value(number)) }
      environment.close()
    }

    @Test func whatASnapshotSeesStays() throws {
      let environment = try open()
      try fill(environment, 0..<500)
      var error: (any Error)?
      try environment.withReadTransaction { (snapshot) throws(LMDBError) in
        do {
          try remove(environment, 0..<500)
          for number in 0..<3 { try environment.put([1], key(-1 - number)) }
          _ = try environment.punchFreePages(within: .max)
          for number in 0..<500 {
            let found = try snapshot.value(key(number)).map { $0 == value(number) }
            #expect(found == true)
          }
        } catch let failure { error = failure }
      }
      #expect(error == nil)
      let before = try allocated
      try environment.put([1], key(-9))
      _ = try environment.punchFreePages(within: .max)
      #expect(try allocated < before / 4)
      environment.close()
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

    @Test func nothingIsDoneWhereItMustNotBe() throws {
      let environment = try open()
      try fill(environment, 0..<500)
      try remove(environment, 0..<500)
      for number in 0..<2 { try environment.put([1], key(-1 - number)) }
      let before = try allocated
      let progress = try environment.punchFreePages(within: .max) { false }
      #expect(progress.bytes == 0 && progress.next == nil)
      #expect(try allocated == before)
      let session = FaultInjection.begin(
        .directory(directory.path), [.init(.punchHole, returns: EOPNOTSUPP, count: .max)])
      #expect { _ = try environment.punchFreePages(within: .max) } throws: {
        ($0 as? LMDBError)?.code == .system(EOPNOTSUPP)
      }
      FaultInjection.end(session)
      // Ends its transaction in any case.
      try fill(environment, 0..<10)
      try expect(environment, 0..<10)
      environment.close()
    }
  }
#endif

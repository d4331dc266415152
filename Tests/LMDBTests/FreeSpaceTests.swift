#if os(Linux)
  import LMDB
  import Platform
  import TestSupport
  import Testing

  /// Punches holes into free pages. The trial `power-loss` cuts the power afterwards.
  @Suite struct FreeSpaceTests {
    let directory = TemporaryDirectory()

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

    /// The pages of a state may be reused after two later commits: a power cut may lose the last one's meta page.
    private func commitTwice(_ environment: Environment) throws(LMDBError) {
      for number in 0..<2 { try environment.put([1], key(-1 - number)) }
    }

    @Test func whatIsFreeTakesNoSpace() throws {
      let environment = try directory.open { $0.mapSize = 256 << 20 }
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
  }
#endif

import LMDB
import Platform
import TestSupport
import Testing

/// Reading corrupt files ends with entries or an error, in bounded memory.
@Suite struct UnmappedDamageTests {
  let directory = TemporaryDirectory()

  private func fill() throws {
    let environment = try directory.open()
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    for index in 0..<3_000 {
      try transaction.put(
        [UInt8](repeating: 5, count: index % 50 == 0 ? 5_000 : 40), bytes("key \(index * 7919 % 3_000)"))
    }
    try transaction.commit()
    try environment.sync(force: true)
  }

  /// - Returns: The number of entries found, or `nil` for an error.
  private func entries() throws -> Int? {
    do throws(DataFileError) {
      return try UnmappedFile.open(try! Directory(path: directory.path))?.all().count ?? 0
    } catch {
      guard case .finding = error else { throw error }
      return nil
    }
  }

  @Test func changedBytesAreAnErrorOrEntries() throws {
    try fill()
    let original = DataFileImage(directory.path)
    var random = SeededRandom(20)
    let pages = [original.meta, original.otherMeta] + original.spine + [original.large.page]
    var (errors, wholes) = (0, 0)
    for round in 0..<400 {
      var image = original
      for _ in 0...random.below(4) {
        let page =
          round % 3 == 0
          ? random.below(image.bytes.count / image.pageSize) * image.pageSize : pages[random.below(pages.count)]
        // Mostly where page headers are.
        let offset = page + (random.below(4) == 0 ? random.below(image.pageSize) : random.below(160))
        image.bytes[offset] = UInt8(truncatingIfNeeded: random.next())
      }
      image.write()
      if let count = try entries() {
        wholes += 1
        #expect(count <= 3_000, "round \(round)")
      } else {
        errors += 1
      }
    }
    #expect(errors > 50 && wholes > 50, "\(errors) errors, and \(wholes) files that could be read")
  }

  @Test(arguments: [100, 4_096, 8_192, 50_000, 200_000]) func aFileThatIsCutOffIsAnError(_ size: Int) throws {
    try fill()
    var image = DataFileImage(directory.path)
    image.bytes.removeLast(image.bytes.count - size)
    image.write()
    #expect(try entries() == nil)
  }

  /// Every branch refers to one leaf; without the check of key order the walk would not end.
  @Test func aTreeThatRefersToOneLeafAgainAndAgainEnds() throws {
    try fill()
    var image = DataFileImage(directory.path)
    let root = image.spine[0]
    let child = image.load(image.node(0, of: root), UInt32.self)
    for index in 0..<image.count(of: root) { image.store(image.node(index, of: root), child) }
    image.write()
    #expect(try entries() == nil)
  }

  @Test func aForgedLengthTakesNoMemory() throws {
    try fill()
    var image = DataFileImage(directory.path)
    image.store(image.large.node, UInt32.max)
    image.write()
    #expect(try entries() == nil)
  }
}

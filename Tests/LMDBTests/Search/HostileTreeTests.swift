import Platform
import TestSupport
import Testing

@testable import LMDB

/// Searches of corrupt pages end, and never read outside the file.
@Suite struct HostileTreeTests {
  private static let pageSize = MemoryMap.pageSize

  /// A tree of a few pages followed by a guard page: reading past its end is a signal.
  private final class Image {
    let base: UnsafeMutableRawPointer
    let pages: Int
    let original: [UInt8]
    let control: ControlReference

    init(_ file: [UInt8], _ metaPages: consuming MetaPages) {
      original = file
      pages = file.count / pageSize
      base = mmap(nil, file.count + pageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
      precondition(base != MAP_FAILED && mprotect(base + file.count, pageSize, PROT_NONE) == 0)
      control = ControlReference(to: Control(metaPages))
      restore()
    }

    deinit {
      munmap(base, original.count + pageSize)
      control.deallocate()
    }

    func restore() { UnsafeMutableRawBufferPointer(start: base, count: original.count).copyBytes(from: original) }

    /// From the newer meta page.
    var tree: Tree { tree() }

    /// - Parameter depth: A forged depth.
    func tree(depth: Int? = nil) -> Tree {
      let metas = [0, pageSize].map { MetaPage(UnsafeRawBufferPointer(start: base + $0, count: pageSize).bytes) }
      let meta = metas.max { $0.transactionID < $1.transactionID }!
      return Tree(
        map: base, root: meta.main.root, end: UInt64(pages), depth: depth ?? Int(meta.main.depth), pageSize: pageSize,
        control: control)
    }
  }

  private static func key(_ index: Int) -> [UInt8] { bytes("a key that is long enough \(index * 7919 % 3_000)") }

  private static func makeImage() throws -> Image {
    let directory = TemporaryDirectory()
    let environment = try directory.open()
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    for index in 0..<3_000 {
      try transaction.put([UInt8](repeating: 5, count: index % 50 == 0 ? 5_000 : 40), key(index))
    }
    try transaction.commit()
    try environment.sync(force: true)
    guard let file = try Directory(path: directory.path).open("data.mdb") else {
      throw LMDBError(status: ENOENT, operation: "open")
    }
    var contents = [UInt8](repeating: 0, count: try file.status().size / pageSize * pageSize)
    #expect(try file.read(&contents))
    return Image(contents, try MetaPages(descriptor: file.descriptor, pageSize: pageSize))
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func changedPagesLeadNowhere(seed: UInt64) throws {
    let image = try Self.makeImage()
    var random = SeededRandom(seed)
    // Takes hints from the intact tree.
    for index in 0..<3_000 { #expect(try find(Self.key(index), image.tree)) }
    for _ in 0..<300 {
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        let page = Int.random(in: 2..<image.pages, using: &random) * Self.pageSize
        // Page headers hold the offsets of the entries.
        let offset = Int.random(in: 0..<(Bool.random(using: &random) ? 64 : Self.pageSize), using: &random)
        image.base.storeBytes(
          of: Bool.random(using: &random) ? 0xFF : UInt8.random(in: 0...255, using: &random),
          toByteOffset: page + offset, as: UInt8.self)
      }
      for _ in 0..<50 { _ = try find(Self.key(Int.random(in: 0..<4_000, using: &random)), image.tree) }
      if Int.random(in: 0..<4, using: &random) == 0 { image.restore() }
    }
    image.restore()
    for index in 0..<3_000 { #expect(try find(Self.key(index), image.tree)) }
  }

  /// The tree's depth only guides prefetching, and branches may lead back to the root.
  @Test(arguments: [0, 1, 2, 3, 4, 5, 65_535]) func anyDepthWillDoAndCirclesEnd(depth: Int) throws {
    let image = try Self.makeImage()
    for _ in 0..<2 {
      for index in 0..<3_000 { #expect(try find(Self.key(index), image.tree(depth: depth))) }
    }
    #expect(try !find(bytes("a key that is not there"), image.tree(depth: depth)))
    let root = image.tree.root
    let page = try #require(image.tree.page(root))
    #expect(!page.isLeaf)
    for slot in 0..<page.count {
      let node = try #require(page.node(slot))
      UnsafeMutableRawPointer(mutating: node.base).storeBytes(of: UInt16(root), as: UInt16.self)
    }
    for index in 0..<100 { #expect(try !find(Self.key(index), image.tree(depth: depth))) }
  }

  /// Searches both ways, and reads every byte found.
  private func find(_ key: [UInt8], _ tree: Tree) throws(LMDBError) -> Bool {
    try withBytes(key) { (bytes) throws(LMDBError) -> Bool in
      var isFound = false
      if case .value(let value) = tree.find(bytes) {
        isFound = true
        #expect(value.reduce(0) { $0 &+ Int($1) } >= 0)
      }
      TreeSearches(tree: tree).run([bytes, bytes].span) { _, found in
        if case .value(let value) = found { #expect(value.reduce(0) { $0 &+ Int($1) } >= 0) }
      }
      return isFound
    }
  }
}

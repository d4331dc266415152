import CLMDB
import CPlatform
import Platform
import Synchronization

extension Environment {
  /// The tree of a snapshot of this process; `nil` while the map's address is unknown.
  @inline(__always)
  func tree(of transaction: OpaquePointer) -> Tree? {
    guard let map = UnsafeRawPointer(bitPattern: control.pointee.map.load(ordering: .acquiring)),
      let main = metaPages.mainTree(of: Calls.id(transaction))
    else { return nil }
    let pages = control.pointee.mapPages.load(ordering: .relaxed)
    return Tree(
      map: map, root: main.root, end: min(main.end, pages), depth: main.depth, pageSize: metaPages.pageSize,
      control: control)
  }

  /// Prefetches the first memory that a lookup in the main database reads, before its transaction begins, which takes
  /// as long.
  @inline(__always)
  package func prefetch(_ key: UnsafeRawBufferPointer) { control.pointee.hints.prefetch(PathHints.hash(key)) }

  /// Derives the map's address from a value in it, as LMDB does not provide it. The caller's snapshot keeps the map in
  /// place.
  func learnMap(of value: UnsafeRawBufferPointer, _ transaction: OpaquePointer) {
    #if _endian(little) && _pointerBitWidth(_64)
      let pageSize = metaPages.pageSize
      guard pageSize == MemoryMap.pageSize, let address = value.baseAddress,
        let environment = Calls.environment(of: transaction)
      else { return }
      var information = MDB_envinfo()
      guard Calls.information(environment, &information) == MDB_SUCCESS else { return }
      let pages = UInt64(information.me_mapsize / pageSize)
      // A value lies in a page that begins with its own number, or after the page that does.
      let page = UnsafeRawPointer(bitPattern: UInt(bitPattern: address) & ~UInt(pageSize - 1))
      guard let page else { return }
      let number = page.load(as: UInt64.self)
      guard number >= 2, number < pages, UInt(bitPattern: page) / UInt(pageSize) > number,
        let base = UnsafeRawPointer(bitPattern: UInt(bitPattern: page) - UInt(number) * UInt(pageSize)),
        cplatform_is_resident(base, 2 * pageSize) == 1, metaPages.isShown(at: base)
      else { return }
      control.pointee.mapPages.store(pages, ordering: .relaxed)
      control.pointee.map.store(UInt(bitPattern: base), ordering: .releasing)
    #endif
  }

  /// Called before the map moves, while it is unused.
  func forgetMap() { control.pointee.map.store(0, ordering: .releasing) }
}

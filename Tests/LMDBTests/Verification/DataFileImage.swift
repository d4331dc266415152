import Foundation

/// A data file's bytes, to change and write back. Assumes a sound file.
struct DataFileImage {
  let path: String
  var bytes: [UInt8]

  init(_ directory: String) {
    path = directory + "/data.mdb"
    bytes = [UInt8](FileManager.default.contents(atPath: path)!)
  }

  func write() { try! Data(bytes).write(to: URL(fileURLWithPath: path)) }

  func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: T.Type = T.self) -> T {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }

  mutating func store<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ value: T) {
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: T.self) }
  }

  mutating func change<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: T.Type, _ body: (T) -> T) {
    store(offset, body(load(offset, type)))
  }

  var pageSize: Int { Int(load(40, UInt32.self)) }

  /// The offset of the newest meta page.
  var meta: Int { load(144, UInt64.self) < load(pageSize + 144, UInt64.self) ? pageSize : 0 }
  var otherMeta: Int { meta == 0 ? pageSize : 0 }
  /// The offset of the free list's record; the main database's follows.
  var free: Int { meta + 40 }
  var main: Int { meta + 88 }
  var lastPage: Int { Int(load(meta + 136, UInt64.self)) }

  /// The offsets of the main tree's pages, from the root down the first branches.
  var spine: [Int] { spine(load(main + 40, UInt64.self)) }

  /// The offsets of the free list's pages, likewise.
  var freeSpine: [Int] { spine(load(free + 40, UInt64.self)) }

  /// The offset of the free list's first record: the number of pages, and then the pages.
  var freeList: Int { data(node(0, of: freeSpine.last!)) }

  private func spine(_ root: UInt64) -> [Int] {
    var page = Int(root) * pageSize
    var pages = [page]
    while load(page + 10, UInt16.self) == 1 {
      page = Int(load(node(0, of: page), UInt32.self)) * pageSize
      pages.append(page)
    }
    return pages
  }

  func count(of page: Int) -> Int { (Int(load(page + 12, UInt16.self)) - 16) / 2 }

  /// An entry's offset.
  func node(_ index: Int, of page: Int) -> Int { page + Int(load(page + 16 + 2 * index, UInt16.self)) }

  /// The offset of an entry's value or of its first page's number.
  func data(_ node: Int) -> Int { node + 8 + Int(load(node + 6, UInt16.self)) }

  /// The offsets of the first leaf's first large entry and of its page.
  var large: (node: Int, page: Int) {
    let leaf = spine.last!
    let node = (0..<count(of: leaf)).map { self.node($0, of: leaf) }.first { load($0 + 4, UInt16.self) == 1 }!
    return (node, Int(load(data(node), UInt64.self)) * pageSize)
  }
}

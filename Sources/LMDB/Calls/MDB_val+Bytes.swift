import CLMDB

extension MDB_val {
  /// Points at bytes that the caller keeps alive. LMDB writes through a key's pointer never, and through a value's
  /// only what a reserving put returns.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  /// The bytes pointed at.
  @inline(__always)
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: mv_data, count: mv_size)
  }
}

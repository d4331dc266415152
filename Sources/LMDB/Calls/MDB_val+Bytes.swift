import CLMDB

extension MDB_val {
  /// Points at bytes that the caller keeps alive. LMDB never writes through a key's pointer, and through a value's only
  /// in a reserving put.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  @inline(__always)
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: mv_data, count: mv_size)
  }
}

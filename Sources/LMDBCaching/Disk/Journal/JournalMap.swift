#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The mapping of a journal's file. The segments in it keep it, so that what waits in them can still be committed when
/// the store has a new journal, the file of this one having been deleted.
// Sendable: the pointer never changes; what is behind it belongs to the segments.
final class JournalMap: @unchecked Sendable {
  let base: UnsafeMutableRawPointer
  private let size: Int

  init(_ file: borrowing File, size: Int) throws(SystemError) {
    let map = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
    guard let map, map != MAP_FAILED else { throw SystemError("mmap", file.path) }
    // A map keeps the file's lock as a descriptor does: see `ForkedLocks`.
    #if canImport(Darwin)
      let status = minherit(map, size, VM_INHERIT_NONE)
    #else
      let status = madvise(map, size, MADV_DONTFORK)
    #endif
    if status != 0 {
      let error = SystemError("madvise", file.path)
      munmap(map, size)
      throw error
    }
    base = map
    self.size = size
  }

  deinit { munmap(base, size) }
}

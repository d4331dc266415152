import CPlatform

/// A shared mapping of a file's beginning, unmapped with the object.
// @unchecked: the pointer never changes; the object's creator owns the memory behind it.
package final class MemoryMap: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  /// Bytes.
  package let size: Int
  private let protection: Int32

  /// Memory page size in bytes.
  package static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Whether the process's address space is limited (`ulimit -v`).
  package static var isAddressSpaceLimited: Bool {
    var limit = rlimit()
    #if canImport(Glibc)
      let status = getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    #else
      let status = getrlimit(RLIMIT_AS, &limit)
    #endif
    // Infinity is the largest number, or half of it.
    return status != 0 || limit.rlim_cur < rlim_t.max / 2
  }

  /// - Parameter access: ``File/Access/writing`` for a file opened for writing.
  package convenience init(
    _ file: borrowing File, size: Int, _ access: File.Access = .writing
  ) throws(SystemError) {
    try self.init(descriptor: file.descriptor, path: file.path, size: size, access)
  }

  package init(descriptor: Int32, path: String, size: Int, _ access: File.Access) throws(SystemError) {
    protection = access == .reading ? PROT_READ : PROT_READ | PROT_WRITE
    guard let base = SystemCalls.map(size, protection, descriptor, path: path) else {
      throw SystemError("mmap", path)
    }
    self.base = base
    self.size = size
  }

  /// Replaces the mapped file, immediately for all readers.
  package func replace(descriptor: Int32, path: String) throws(SystemError) {
    guard mmap(base, size, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) == base else {
      throw SystemError("mmap", path)
    }
  }

  /// Whether a range's pages are in memory, so that reading it cannot cause an I/O error.
  package func isResident(_ offset: Int, count: Int) -> Bool {
    offset >= 0 && count >= 0 && offset <= size - count && cplatform_is_resident(base + offset, count) == 1
  }

  deinit { munmap(base, size) }
}

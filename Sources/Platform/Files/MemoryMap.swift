import CPlatform

/// A shared mapping of a file's beginning, which goes with the object.
// @unchecked: the pointer never changes; what is behind it belongs to whoever made the object.
package final class MemoryMap: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  /// Bytes.
  package let size: Int
  private let protection: Int32

  /// Bytes of a page of memory.
  package static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Whether the process has a limit of addresses (`ulimit -v`), its memory included.
  package static var isAddressSpaceLimited: Bool {
    var limit = rlimit()
    #if canImport(Glibc)
      let status = getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    #else
      let status = getrlimit(RLIMIT_AS, &limit)
    #endif
    // Infinity is the greatest number there is, or half of it.
    return status != 0 || limit.rlim_cur < rlim_t.max / 2
  }

  /// - Parameter access: ``File/Access/writing`` for a file that was opened so.
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

  /// Puts another file in the place of this one, at once for whoever is reading.
  package func replace(descriptor: Int32, path: String) throws(SystemError) {
    guard mmap(base, size, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) == base else {
      throw SystemError("mmap", path)
    }
  }

  /// Whether the pages of a part are in memory, so that reading it needs no device, which could fail.
  package func isResident(_ offset: Int, count: Int) -> Bool {
    offset >= 0 && count >= 0 && offset <= size - count && cplatform_is_resident(base + offset, count) == 1
  }

  deinit { munmap(base, size) }
}

/// A shared mapping of a file's beginning, which goes with the object.
///
/// A forked child does not have it: it would keep the file's locks, as a copy of the descriptor does.
// @unchecked: the pointer never changes; what is behind it belongs to whoever made the object.
package final class MemoryMap: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  /// Bytes.
  package let size: Int

  /// - Parameter access: ``File/Access/writing`` for a file that was opened so.
  package init(_ file: borrowing File, size: Int, _ access: File.Access = .writing) throws(SystemError) {
    let protection = access == .reading ? PROT_READ : PROT_READ | PROT_WRITE
    guard let base = SystemCalls.map(size, protection, file.descriptor, path: file.path) else {
      throw SystemError("mmap", file.path)
    }
    #if canImport(Darwin)
      let status = minherit(base, size, VM_INHERIT_NONE)
    #else
      let status = madvise(base, size, MADV_DONTFORK)
    #endif
    if status != 0 {
      let error = SystemError("madvise", file.path)
      munmap(base, size)
      throw error
    }
    self.base = base
    self.size = size
  }

  deinit { munmap(base, size) }
}

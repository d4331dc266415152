/// An open directory. All operations use its descriptor, so it stays the same directory when it is renamed or its path
/// is reused.
///
/// Names are plain file names, never paths, and links are not followed. Only the directory's own path may contain
/// links.
package final class Directory: Sendable {
  let descriptor: Int32
  /// The path when it was opened: absolute, without links, `.`, `..` or a trailing slash. A directory reached through
  /// another root (`/proc/…/root`) has no such path, and keeps the one it was opened by.
  package let path: String
  package let identity: FileIdentity

  /// Takes ownership of an open descriptor.
  init(_ descriptor: Int32, _ path: String, _ identity: FileIdentity) {
    self.descriptor = descriptor
    self.path = path
    self.identity = identity
  }

  /// Opens a directory, first creating it and its missing parents if asked.
  ///
  /// - Parameter synchronized: Whether a new directory must survive a power cut.
  package convenience init(
    path: String, creating: Bool = false, synchronized: Bool = false
  ) throws(SystemError) {
    if creating { try Self.make(path, synchronized: synchronized) }
    var attempts = 0
    while true {
      let descriptor = try Descriptors.open(
        AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, path: path, checksName: false)
      do throws(SystemError) {
        let identity = FileIdentity(try Descriptors.status(descriptor, path: path))
        // If the paths never agree, a link leads to another root.
        let isElsewhere = attempts >= Self.renamingLimit && path.hasPrefix("/")
        let canonical = isElsewhere ? path : try Self.canonicalPath(path)
        // Renamed in between: retry.
        guard try Self.identity(ofPath: canonical) == identity else {
          if attempts >= 2 * Self.renamingLimit { throw SystemError("realpath", path, errno: ELOOP) }
          attempts += 1
          Descriptors.close(descriptor)
          continue
        }
        self.init(descriptor, canonical, identity)
        return
      } catch {
        Descriptors.close(descriptor)
        throw error
      }
    }
  }

  private static let renamingLimit = 20

  /// Opens a directory; `nil` if it does not exist.
  package convenience init?(existing path: String) throws(SystemError) {
    do throws(SystemError) {
      try self.init(path: path)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
  }

  /// This directory without a descriptor: every call throws `EBADF`.
  package func closed() -> Directory { Directory(-1, path, identity) }

  deinit { if descriptor >= 0 { Descriptors.close(descriptor) } }

  /// Opens the subdirectory `name`; `nil` if it does not exist.
  ///
  /// - Throws: An error with a finding if it is something else, such as a link.
  package func subdirectory(_ name: String) throws(SystemError) -> Directory? {
    let path = self.path(of: name)
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try Descriptors.open(self.descriptor, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, path: path)
    } catch {
      switch error.errno {
      case ENOENT: return nil
      case ELOOP, ENOTDIR, EMLINK:
        guard let kind = try kind(of: name), kind != .directory else { throw error }
        throw SystemError("openat", path, errno: ENOTDIR)
      default: throw error
      }
    }
    do throws(SystemError) {
      let identity = FileIdentity(try Descriptors.status(descriptor, path: path))
      return Directory(descriptor, path, identity)
    } catch {
      Descriptors.close(descriptor)
      throw error
    }
  }

  /// Opens or creates the subdirectory `name`. Removes a new one that cannot be opened.
  ///
  /// - Parameter synchronized: Whether a new directory must survive a power cut.
  package func makeSubdirectory(_ name: String, synchronized: Bool = false) throws(SystemError) -> Directory {
    try Descriptors.checkName(name, "mkdirat")
    while true {
      let path = path(of: name)
      let isMade = SystemCalls.makeDirectory(descriptor, name, path: path) == 0
      if !isMade, errno != EEXIST { throw SystemError("mkdirat", path) }
      do throws(SystemError) {
        if isMade, synchronized { try synchronize() }
        // `nil` if another process removed it.
        if let directory = try subdirectory(name) { return directory }
      } catch {
        // Removes only an empty directory. The caller needs the first error.
        if isMade { _ = SystemCalls.remove(descriptor, Array(name.utf8CString), flags: AT_REMOVEDIR, path: path) }
        throw error
      }
    }
  }

  /// A file's path, for messages.
  package func path(of name: String) -> String { path == "/" ? path + name : path + "/" + name }

  /// Whether its path still leads to it.
  package func isStillAtItsPath() throws(SystemError) -> Bool { try Self.identity(ofPath: path) == identity }

  /// A path for C libraries that accept nothing else: one that follows the directory if the system has such paths,
  /// otherwise the one it was opened by, where the caller must compare identities afterwards.
  package var pathForC: String {
    #if os(Linux)
      // proc(5). Missing without /proc, as in some chroots.
      let own = "/proc/self/fd/\(descriptor)"
      var status = stat()
      if stat(own, &status) == 0, FileIdentity(status) == identity { return own }
    #endif
    return path
  }

  /// Makes changes of its entries durable: new files, renames and removals.
  package func synchronize() throws(SystemError) {
    while SystemCalls.synchronize(descriptor, path: path) != 0 {
      if errno != EINTR { throw SystemError("fsync", path) }
    }
  }

  /// Makes its volume durable.
  package func synchronizeVolume() throws(SystemError) {
    if SystemCalls.synchronizeVolume(descriptor, path: path) != 0 { throw SystemError("syncfs", path) }
  }
}

/// A directory that is held open: everything below goes by its descriptor, so that it stays the same directory when it
/// is renamed, or another one gets its path.
///
/// Names are those of files in it, and never paths. None of the operations follows a link. The directory itself may be
/// given by a path with links in it.
package final class Directory: Sendable {
  let descriptor: Int32
  /// Absolute, without links, `.`, `..` or a trailing slash: the path that it had when it was opened. One that is reached
  /// through another root (`/proc/…/root`) has no such path here, and is called as it was when it was opened.
  package let path: String
  package let identity: FileIdentity

  /// Takes an open descriptor over.
  init(_ descriptor: Int32, _ path: String, _ identity: FileIdentity) {
    self.descriptor = descriptor
    self.path = path
    self.identity = identity
  }

  /// Opens a directory, and makes it first, with all that is missing above it, if asked.
  ///
  /// - Parameter synchronized: Whether a new directory has to be there after a power cut.
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
        // Where that is another directory again and again, a link leads to another root.
        let isElsewhere = attempts >= Self.renamingLimit && path.hasPrefix("/")
        let canonical = isElsewhere ? path : try Self.canonicalPath(path)
        // Renamed in between: look again.
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

  /// The same for one that may be missing: `nil` if there is none.
  package convenience init?(existing path: String) throws(SystemError) {
    do throws(SystemError) {
      try self.init(path: path)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
  }

  /// The same directory without its descriptor: every call throws `EBADF`.
  package func closed() -> Directory { Directory(-1, path, identity) }

  deinit { if descriptor >= 0 { Descriptors.close(descriptor) } }

  /// The directory `name` in this one; `nil` if there is none.
  ///
  /// - Throws: An error with a finding if there is something else in its place, such as a link.
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

  /// The same, which is made if there is none. One that was made and cannot be opened is removed again.
  ///
  /// - Parameter synchronized: Whether a new directory has to be there after a power cut.
  package func makeSubdirectory(_ name: String, synchronized: Bool = false) throws(SystemError) -> Directory {
    try Descriptors.checkName(name, "mkdirat")
    while true {
      let path = path(of: name)
      let isMade = SystemCalls.makeDirectory(descriptor, name, path: path) == 0
      if !isMade, errno != EEXIST { throw SystemError("mkdirat", path) }
      do throws(SystemError) {
        if isMade, synchronized { try synchronize() }
        // `nil`: removed again by somebody else.
        if let directory = try subdirectory(name) { return directory }
      } catch {
        // Only an empty one goes. Why it could not be opened is what is told.
        if isMade { _ = SystemCalls.remove(descriptor, Array(name.utf8CString), flags: AT_REMOVEDIR, path: path) }
        throw error
      }
    }
  }

  /// The path of a file in it, for messages.
  package func path(of name: String) -> String { path == "/" ? path + name : path + "/" + name }

  /// Whether its path still leads to it.
  package func isStillAtItsPath() throws(SystemError) -> Bool { try Self.identity(ofPath: path) == identity }

  /// A path for C libraries that take nothing else: one that leads to this very directory wherever it is now, where the
  /// system has such paths; otherwise the one that it was opened by. There the caller compares identities afterwards.
  package var pathForC: String {
    #if os(Linux)
      // proc(5). Missing where /proc is not mounted, as in some chroots.
      let own = "/proc/self/fd/\(descriptor)"
      var status = stat()
      if stat(own, &status) == 0, FileIdentity(status) == identity { return own }
    #endif
    return path
  }

  /// Makes names in it durable: new ones, renames and removals.
  package func synchronize() throws(SystemError) {
    while SystemCalls.synchronize(descriptor, path: path) != 0 {
      if errno != EINTR { throw SystemError("fsync", path) }
    }
  }

  /// Makes everything on its volume durable.
  package func synchronizeVolume() throws(SystemError) {
    if SystemCalls.synchronizeVolume(descriptor, path: path) != 0 { throw SystemError("syncfs", path) }
  }
}

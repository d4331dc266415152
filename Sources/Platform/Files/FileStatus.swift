/// A file's status.
package struct FileStatus: Hashable, Sendable {
  package let identity: FileIdentity
  package let kind: FileKind
  /// Bytes.
  package let size: Int
  /// Bytes on disk.
  package let allocatedBytes: Int
  /// The number of names; 0 for a removed file.
  package let linkCount: Int
  package let owner: uid_t
  package let group: gid_t
  /// Permissions.
  package let mode: mode_t
  /// Last change of the contents: nanoseconds since 1970, clamped.
  package let modified: Int64
  /// Last change of the file's status, including permissions and names.
  package let changed: Int64
  /// Creation time, if the system provides it.
  package let made: Int64?

  /// A user-space file system may report any number.
  static func bytes(ofBlocks count: Int) -> Int { max(0, count).multipliedClamped(by: 512) }

  init(_ status: stat) {
    identity = FileIdentity(status)
    kind = FileKind(mode: status.st_mode)
    size = Int(status.st_size)
    allocatedBytes = Self.bytes(ofBlocks: Int(status.st_blocks))
    linkCount = Int(status.st_nlink)
    owner = status.st_uid
    group = status.st_gid
    mode = status.st_mode & 0o7777
    #if canImport(Darwin)
      modified = RealTimeClock.nanoseconds(status.st_mtimespec)
      changed = RealTimeClock.nanoseconds(status.st_ctimespec)
      made = RealTimeClock.nanoseconds(status.st_birthtimespec)
    #else
      modified = RealTimeClock.nanoseconds(status.st_mtim)
      changed = RealTimeClock.nanoseconds(status.st_ctim)
      made = nil
    #endif
  }
}

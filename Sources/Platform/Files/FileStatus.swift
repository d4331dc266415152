/// What the system says of a file.
package struct FileStatus: Hashable, Sendable {
  package let identity: FileIdentity
  package let kind: FileKind
  /// Bytes.
  package let size: Int
  /// Bytes on the disk.
  package let allocatedBytes: Int
  /// How many names it has. 0 for a file that was removed.
  package let linkCount: Int
  package let owner: uid_t
  package let group: gid_t
  /// The permissions.
  package let mode: mode_t
  /// When the contents changed last: nanoseconds since 1970, clamped.
  package let modified: Int64
  /// When the file itself changed last, its permissions and names included.
  package let changed: Int64
  /// When the file was made, where the system says so.
  package let made: Int64?

  /// A file system of a user's may say any number.
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

import CPlatform

// The directory's volume and permissions.

extension Directory {
  /// Bytes that this user may still write to the volume.
  package func freeSpace() throws(SystemError) -> Int {
    var status = statvfs()
    while fstatvfs(descriptor, &status) != 0 {
      if errno != EINTR { throw SystemError("fstatvfs", path) }
    }
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? .max : Int(clamping: bytes)
  }

  package func status() throws(SystemError) -> FileStatus {
    FileStatus(try Descriptors.status(descriptor, path: path))
  }

  /// - Throws: `EACCES` or `EROFS` if this user cannot create and remove files in it.
  package func checkWritable() throws(SystemError) {
    if cplatform_is_writable(descriptor) != 0 { throw SystemError("faccessat", path) }
  }

  /// Whether this process's user owns it.
  package func isOwnedByUser() throws(SystemError) -> Bool { try status().owner == geteuid() }

  /// Whether other users may create files in it. (The sticky bit does not prevent that.)
  package func isWritableByOthers() throws(SystemError) -> Bool { try status().mode & (S_IWGRP | S_IWOTH) != 0 }

  /// Whether it is on a network file system.
  package func isRemote() throws(SystemError) -> Bool {
    #if os(Linux)
      let type = cplatform_file_system(descriptor)
      if type < 0 { throw SystemError("fstatfs", path) }
      if Self.remoteMagic.contains(type) { return true }
      guard type == Self.fuse else { return false }
      // Only the list of mounts gives the kind. It is missing in a chroot without /proc, for example.
      guard let folder = try Directory(existing: "/proc/self"), let file = try folder.open("mountinfo") else {
        return false
      }
      let device = try Descriptors.status(descriptor, path: path).st_dev
      return Self.isRemote(
        device: "\(Self.major(device)):\(Self.minor(device))", mountInfo: try file.readToEnd(limit: 16 << 20))
    #else
      var status = statfs()
      if fstatfs(descriptor, &status) != 0 { throw SystemError("fstatfs", path) }
      return status.f_flags & UInt32(MNT_LOCAL) == 0
    #endif
  }

  #if os(Linux)
    /// Whether a device (`major:minor`) is a network file system, by the kernel's list of mounts.
    package static func isRemote(device: String, mountInfo: [UInt8]) -> Bool {
      // proc(5): ID, parent, major:minor, root, mount point, options, optional fields, "-", type, …
      for line in mountInfo.split(separator: UInt8(ascii: "\n")) {
        let fields = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count > 4, fields[2] == device, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
        else { continue }
        return remoteTypes.contains(fields[dash + 1])
      }
      return false
    }

    // makedev(3)'s macros, which Swift cannot import.
    static func major(_ device: dev_t) -> dev_t { (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF }
    static func minor(_ device: dev_t) -> dev_t { device & 0xFF | (device >> 12) & ~0xFF }

    /// statfs(2): NFS, SMB, CIFS, SMB 2, 9P, Ceph, AFS (two), Coda, Lustre, GFS2, OCFS2.
    private static let remoteMagic: Set<Int64> = [
      0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x6B41_4653, 0x7375_7245,
      0x0BD0_0BD0, 0x0116_1970, 0x7461_636F,
    ]
    private static let fuse: Int64 = 0x6573_5546

    private static let remoteTypes: Set = [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "glusterfs", "lustre", "gfs2", "ocfs2",
      "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "virtiofs",
    ]
  #endif
}

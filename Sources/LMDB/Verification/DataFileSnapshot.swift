package import Platform

/// What changes whenever somebody commits to a data file, or puts another one in its place: for marks that say as of which
/// state a file was sound.
package struct DataFileSnapshot {
  package let status: FileStatus
  /// The beginnings of both meta pages, which hold the number of the last transaction.
  package let metaPages: (first: [UInt8], second: [UInt8])

  /// - Parameter metaLength: Bytes of each meta page.
  /// - Returns: `nil` if there is no file, or one that is too short for a database.
  package init?(of directory: Directory, metaLength: Int) throws(SystemError) {
    guard let file = try directory.open(OpenFiles.dataFile) else { return nil }
    status = try file.status()
    var first = [UInt8](repeating: 0, count: metaLength)
    guard try file.read(&first) else { return nil }
    // Where the second page lies, the first one says: `mm_psize`.
    let pageSize = first.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) }
    var second = [UInt8](repeating: 0, count: metaLength)
    guard pageSize >= metaLength, try file.read(&second, at: pageSize) else { return nil }
    metaPages = (first, second)
  }
}

package import Platform

/// Changes with every commit to a data file and when another file replaces it. Marks record the state in which a file
/// was sound by it.
package struct DataFileSnapshot {
  package let status: FileStatus
  /// The beginnings of both meta pages, which hold the last transaction's number.
  package let metaPages: (first: [UInt8], second: [UInt8])

  /// - Parameter metaLength: Bytes of each meta page.
  /// - Returns: `nil` if the file is missing or too short for a database.
  package init?(of directory: Directory, metaLength: Int) throws(SystemError) {
    guard let file = try directory.open(OpenFiles.dataFile) else { return nil }
    status = try file.status()
    var first = [UInt8](repeating: 0, count: metaLength)
    guard try file.read(&first) else { return nil }
    // The first page gives the second one's offset: `mm_psize`.
    let pageSize = first.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) }
    var second = [UInt8](repeating: 0, count: metaLength)
    guard pageSize >= metaLength, try file.read(&second, at: pageSize) else { return nil }
    metaPages = (first, second)
  }
}

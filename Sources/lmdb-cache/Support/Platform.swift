import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// System calls that Foundation does not offer.
enum Platform {
  /// Monotonic nanoseconds. Takes about 20 ns if the kernel answers without a system call.
  @inline(__always)
  static func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// The median cost of reading the clock twice, which every measured time includes.
  static func clockCost() -> UInt64 {
    var costs: [UInt64] = []
    for _ in 0..<1001 {
      let start = nanoseconds()
      costs.append(nanoseconds() - start)
    }
    return costs.sorted()[costs.count / 2]
  }

  static var standardOutputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
  static var standardErrorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Whether a descriptor's reader is gone for good.
  static func isHungUp(_ descriptor: Int32) -> Bool {
    var wait = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&wait, 1, 0) > 0 && Int32(wait.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0
  }

  /// The `errno` of looking at a path; `nil` if it exists.
  static func statusError(ofFileAt path: String) -> Int32? {
    var status = stat()
    return stat(path, &status) == 0 ? nil : errno
  }

  /// Size in bytes; `nil` for a missing file or one without a size.
  static func size(ofFileAt path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// Bytes read by this process so far, without mapped memory. `nil` if unknown.
  static func bytesRead() -> Int? {
    // Files in /proc have no length.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/io"), let data = try? file.read(upToCount: 4096),
      let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first(where: { $0.hasPrefix("rchar:") })
    else { return nil }
    return Int(line.dropFirst(6).trimmingCharacters(in: .whitespaces))
  }

  /// The system's message, where Foundation's error hides it.
  static func reason(of error: any Error) -> (text: String, isPermissionDenied: Bool) {
    var error = error as NSError
    while let underlying = error.userInfo[NSUnderlyingErrorKey] as? any Error { error = underlying as NSError }
    if error.domain != NSPOSIXErrorDomain {
      return (error.localizedDescription, (error as? CocoaError)?.code == .fileReadNoPermission)
    }
    return (String(cString: strerror(Int32(error.code))), error.code == Int(EACCES))
  }

  /// Creates a private empty directory.
  static func makeTemporaryDirectory(in parent: String) throws(ToolError) -> String {
    var template = Array((parent + "/lmdb-cache.XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw ToolError(.cannotCreate, "cannot create a directory in \(parent): \(String(cString: strerror(errno)))")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: Files that get their names when they are whole

  /// Whether a path leads to a file, following links; `nil` for a missing one.
  static func isFile(_ path: String) -> Bool? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFREG : nil
  }

  /// Creates an empty file next to a path, readable by this user only.
  static func makeTemporaryFile(beside path: String) throws(ToolError) -> (descriptor: Int32, path: String) {
    let place = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var template = Array("\(place)/.\(URL(fileURLWithPath: path).lastPathComponent).XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      let status: ExitStatus = errno == EACCES ? .noPermission : .cannotCreate
      throw ToolError(status, "cannot create a file in \(place): \(String(cString: strerror(errno)))")
    }
    return (descriptor, String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  static func rename(_ path: String, to newPath: String) throws(ToolError) {
    #if canImport(Glibc)
      let status = Glibc.rename(path, newPath)
    #elseif canImport(Musl)
      let status = Musl.rename(path, newPath)
    #else
      let status = Darwin.rename(path, newPath)
    #endif
    guard status == 0 else {
      throw ToolError(.cannotCreate, "cannot create \(newPath): \(String(cString: strerror(errno)))")
    }
  }

  static func remove(_ path: String) -> Bool { unlink(path) == 0 }
}

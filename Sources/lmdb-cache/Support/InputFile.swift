import Foundation

/// Files read whole; `-` is standard input, and `.xz` files can be decompressed.
enum InputFile {
  static func contents(of path: String, unpacking: Bool = false) throws(ToolError) -> Data {
    if path == "-" { return try read(.standardInput, "standard input") }
    let handle: FileHandle
    do {
      handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    } catch {
      let reason = Platform.reason(of: error)
      throw ToolError(reason.isPermissionDenied ? .noPermission : .noInput, "cannot open \(path): \(reason.text)")
    }
    if unpacking && path.hasSuffix(".xz") { return try unpacked(handle, path) }
    return try read(handle, path)
  }

  /// The number of bytes to read; `nil` if unknown in advance.
  static func size(of path: String, unpacking: Bool = false) -> Int? {
    path == "-" || unpacking && path.hasSuffix(".xz") ? nil : Platform.size(ofFileAt: path)
  }

  private static func read(_ handle: FileHandle, _ name: String) throws(ToolError) -> Data {
    do {
      return try handle.readToEnd() ?? Data()
    } catch {
      throw ToolError(.inputOutput, "cannot read \(name): \(Platform.reason(of: error).text)")
    }
  }

  private static func unpacked(_ handle: FileHandle, _ path: String) throws(ToolError) -> Data {
    let process = Process()
    let output = Pipe()
    // `env` searches PATH.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["xz", "-dc"]
    process.standardInput = handle
    process.standardOutput = output
    do {
      try process.run()
    } catch {
      throw ToolError(.unavailable, "cannot run xz: \(Platform.reason(of: error).text)")
    }
    let contents = try read(output.fileHandleForReading, path)
    process.waitUntilExit()
    // `env` reports a missing program by it.
    if process.terminationStatus == 127 {
      throw ToolError(.unavailable, "\(path) is packed, and xz is not installed (Debian: apt-get install xz-utils)")
    }
    if process.terminationReason != .exit || process.terminationStatus != 0 {
      throw ToolError(.dataError, "\(path) cannot be unpacked: it is damaged, or no xz file")
    }
    return contents
  }
}

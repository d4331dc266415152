import Foundation

/// A recorded sequence of requests; see the README in the folder of the traces.
enum Trace {
  static func load(_ file: URL) throws -> [UInt32] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["xz", "-dc", file.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0, !data.isEmpty, data.count % 4 == 0 else {
      throw WorkloadError("\(file.path) is no trace; run this from the top of the repository, or give --traces.")
    }
    return data.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 4).map {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
      }
    }
  }
}

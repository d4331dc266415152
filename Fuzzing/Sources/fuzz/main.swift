import CFuzzer
import Foundation

// fuzz seeds DIRECTORY: writes a folder of inputs for each target.
// fuzz TARGET ARGUMENTS…: runs libFuzzer with its own arguments; a file among them is tried once.

/// What the callback, which C calls, is for.
nonisolated(unsafe) var target = UntrustedKind.cbor

func usage() -> Never {
  let names = UntrustedKind.allCases.map(\.rawValue).joined(separator: "|")
  FileHandle.standardError.write(Data("usage: fuzz seeds DIRECTORY | fuzz \(names) [libFuzzer's arguments]\n".utf8))
  exit(64)
}

func writeSeeds(_ directory: URL) throws {
  for kind in UntrustedKind.allCases {
    let folder = directory.appendingPathComponent(kind.rawValue)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (index, bytes) in try kind.seeds().enumerated() {
      try Data(bytes).write(to: folder.appendingPathComponent("seed-\(index)"))
    }
  }
}

var arguments = CommandLine.arguments
guard arguments.count >= 2 else { usage() }
if arguments[1] == "seeds" {
  guard arguments.count == 3 else { usage() }
  try writeSeeds(URL(fileURLWithPath: arguments[2]))
  exit(0)
}
guard let kind = UntrustedKind(rawValue: arguments.remove(at: 1)) else { usage() }
target = kind
var count = Int32(arguments.count)
var strings: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
let status = strings.withUnsafeMutableBufferPointer { buffer in
  var base = buffer.baseAddress
  return LLVMFuzzerRunDriver(&count, &base) { data, size in
    target.check(UnsafeRawBufferPointer(start: data, count: size)) ? 0 : 0
  }
}
exit(status)

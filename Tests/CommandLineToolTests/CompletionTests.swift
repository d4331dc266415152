import Foundation
import TestSupport
import Testing

@Suite struct CompletionTests {
  let scratch: Scratch
  /// The user's cache and data directories, with a cache in each.
  let environment: [String: String]

  init() async throws {
    scratch = try Scratch()
    environment = [
      "XDG_CACHE_HOME": scratch.path("caches"), "XDG_DATA_HOME": scratch.path("data"),
      "PATH": Tool.executable.deletingLastPathComponent().path + ":/usr/bin:/bin", "HOME": scratch.path("home"),
    ]
    for name in ["caches/app/thumbnails", "data/app/settings"] {
      let result = try await Tool.run("set", "key", "value", "--cache", scratch.path(name))
      #expect(result.status == 0, "\(result.errors)")
    }
    let directories = [
      "caches/app/empty", "places/a b", "places/a:b", "places/$(touch ran)", "places/`touch ran`", "places/.hidden",
      "places/back\\slash", "places/it's", "places/two\nlines",
    ]
    for directory in directories {
      try FileManager.default.createDirectory(atPath: scratch.path(directory), withIntermediateDirectories: true)
    }
    _ = try scratch.file("places/file", Data())
  }

  /// The tool's candidates for the last word, requested as a shell's script does.
  func candidates(_ shell: String, for word: String, of arguments: [String] = ["get", "key", "--cache"]) async throws
    -> [String]
  {
    let words = ["lmdb-cache"] + arguments + [word]
    let what = arguments.last == "--cache" ? "--cache" : "positional@0"
    let result = try await Tool.run(
      ["---completion", arguments[0], "--", what, "\(words.count - 1)", "\(word.count)"] + words,
      environment: environment.merging(["SAP_SHELL": shell]) { $1 })
    #expect(result.status == 0, "\(result.errors)")
    return result.text.split(separator: "\n").map(String.init)
  }

  @Test func candidatesAreAsEachShellWantsThem() async throws {
    let places = scratch.path("places") + "/"
    #expect(try await candidates("fish", for: "") == ["settings", "thumbnails", "./"])
    #expect(try await candidates("fish", for: "empty") == [])
    #expect(try await candidates("fish", for: ".") == ["./", "../"])
    #expect(try await candidates("fish", for: "s", of: ["verify"]) == ["settings"])
    #expect(try await candidates("fish", for: places + ".h") == [places + ".hidden/"])
    // Words as the user types them: escaped or quoted.
    #expect(try await candidates("fish", for: places + "a\\ ") == [places + "a b/"])
    #expect(try await candidates("fish", for: "\"\(places)a ") == [places + "a b/"])
    #expect(try await candidates("fish", for: scratch.path("nowhere") + "/") == [])
    #expect(try await candidates("bash", for: places + "$") == [places + "\\$\\(touch\\ ran\\)"])
    #expect(try await candidates("bash", for: places + "b") == [places + "back\\\\slash"])
    // The script drops the last line.
    #expect(try await candidates("zsh", for: places + "a:") == [places + "a\\:b/", " "])
  }

  /// Runs the installed script in the shell, which expands the candidates.
  @Test func bashOffersTheSameAndRunsNothing() async throws {
    let script = try await Tool.run("--generate-completion-script", "bash")
    let path = try scratch.file("script", script.output)
    let driver = """
      cd "$1"; source "$2"; shift 2
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
      _lmdb-cache lmdb-cache "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    func offered(_ words: String...) throws -> Set<String> {
      let shell = try ChildProcess(
        URL(fileURLWithPath: "/bin/bash"),
        ["-c", driver, "driver", scratch.path("places"), path, "lmdb-cache"] + words,
        environment: environment)
      return Set(shell.readRemaining())
    }
    #expect(try offered("get", "key", "--cache", "") == ["settings", "thumbnails", "./"])
    #expect(
      try offered("get", "key", "--cache", "./")
        == ["./$(touch ran)", "./`touch ran`", "./a b", "./a:b", "./back\\slash", "./it's"])
    #expect(try offered("get", "key", "--cache", "./a\\ ") == ["./a b"])
    #expect(try offered("verify", "th") == ["thumbnails"])
    #expect(try offered("set", "key", "--file", "fi") == ["file"])
    #expect(try offered("replay", "file", "--format", "") == ["u32be", "text"])
    #expect(try offered("get", "key", "--ca") == ["--cache"])
    #expect(try offered("veri") == ["verify"])
    #expect(try !scratch.names.contains("ran") && !FileManager.default.fileExists(atPath: scratch.path("places/ran")))
  }
}

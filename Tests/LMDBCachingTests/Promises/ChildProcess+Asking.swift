import Foundation
import TestSupport

extension ChildProcess {
  func ask(_ line: String, within seconds: Int = 60) -> String {
    let answer = Guarded<String?>(nil)
    let isOver = finishes(within: seconds) { [self] in
      let line = run(line)
      answer { $0 = line ?? "ended" }
    }
    if !isOver { signal(SIGKILL) }
    return answer.current ?? "hung"
  }
}

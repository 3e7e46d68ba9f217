"""Completion for bash and zsh."""
import re

FILES = {"FILE", "PATH", "DIR", "PLUGIN.so..."}


def choices_of(option):
    """The words that a value may be, as far as the program says them."""
    if option.value.upper() in ("BOOL", "<BOOLEAN>"):
        return ["true", "false"]
    if option.value == "MODE":  # "none: what is there at start. poll: changes are followed."
        return re.findall(r"(?:^|[.] )(\w+): ", option.text)
    if option.value == "FORMAT":  # "Format of --list: text or markdown"
        return re.findall(r"\w+", option.text.split(": ")[-1].replace(" or ", " "))
    return []


def takes_file(option):
    return option.value in FILES or bool(re.match(r"(File|Director\w+|Folder)\b", option.text))


def each(program):
    yield program
    for command in program.commands:
        yield from each(command)


def function_name(program):
    return "_" + re.sub(r"\W", "_", program.words[0])


# Keys of a manifest, for --set KEY=VALUE. The instances are those of the manifest on the command line, else the service's; the
# plugins for `use` are those that are installed now.
BASH_SETTINGS = r'''
# Prints the manifest that is named on the command line, or else the service's.
_atoll_manifest() {
    local i file=/etc/atoll/atoll.toml
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
            --manifest) file=${COMP_WORDS[i + 1]}; [[ $file == = ]] && file=${COMP_WORDS[i + 2]} ;;
        esac
    done
    [[ -r $file ]] && printf '%s\n' "$file"
}

# Prints "NAME ROLE/PLUGIN" for each instance of a manifest.
_atoll_instances() {
    local file
    file=$(_atoll_manifest) || return 0
    awk -F'[][."= ]+' '/^\[plugin\.[^].]+\]/ { name = $3 } /^use *=/ { print name, $2 }' "$file"
}

# Prints the names of the plugins that are installed.
_atoll_plugins() {
    local folder
    folder=$(command -v "${COMP_WORDS[0]}") && folder=$(readlink -f "$folder") || return 0
    folder=${folder%/bin/*}/lib/atoll/plugins
    (cd "$folder" 2>/dev/null && printf '%s\n' */*.so | sed 's/\.so$//')
}

# Prints what a setting that begins so may be.
_atoll_settings() {
    local begun=$1 name use key
    case $begun in
        plugin.*.use=*) _atoll_plugins | sed "s|^|${begun%%=*}=|" ;;
        *=*)
            key=${begun%%=*}
            if [[ $key == plugin.* ]]; then
                use=$(_atoll_instances | awk -v n="$(cut -d. -f2 <<<"$key")" '$1 == n { print $2; exit }')
                name=$use.${key##*.}
            else
                name=$key
            fi
            for use in ${_atoll_choices[$name]-}; do printf '%s\n' "$key=$use"; done ;;
        *)
            for key in ${_atoll_keys[atoll]}; do printf 'atoll.%s=\n' "$key"; done
            for key in ${_atoll_keys[log]}; do printf 'log.%s=\n' "$key"; done
            while read -r name use; do
                for key in use enabled ${_atoll_keys[$use]-}; do printf 'plugin.%s.%s=\n' "$name" "$key"; done
            done < <(_atoll_instances) ;;
    esac
}
'''

BASH_COMPLETE = r'''
# Words that begin as the present one. Bash takes '=' and ':' for ends of words, so what stands before the last of them is not
# completed again.
_atoll_reply() {
    local full=$1 word; shift
    local before=
    [[ $full == *[=:]* ]] && before=${full%"${full##*[=:]}"}
    COMPREPLY=()
    while read -r word; do
        [[ $word == "$full"* ]] && COMPREPLY+=("${word#"$before"}")
    done < <(printf '%s\n' "$@")
    [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

# The present word and the one before it, put together again where '=' and ':' have divided them.
_atoll_words() {
    local line=${COMP_LINE:0:COMP_POINT} words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cur=${words[-1]} prev=
    [[ ${#words[@]} -gt 1 ]] && prev=${words[-2]}
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
    fi
}
'''


def bash_case(program, path):
    """What follows the words of one command."""
    lines = [f"        '{path}')", "            case $prev in"]
    for option in program.options:
        if not option.value:
            continue
        flags = "|".join(option.flags)
        if option.value == "KEY=VALUE" and option.flags == ["--set"] and program.words[0] != "atoll-lint":
            lines.append(f'                {flags}) _atoll_reply "$cur" $(_atoll_settings "$cur"); return ;;')
        elif choices_of(option):
            lines.append(f'                {flags}) _atoll_reply "$cur" {" ".join(choices_of(option))}; return ;;')
        elif takes_file(option):
            lines.append(f'                {flags}) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; return ;;')
        else:
            lines.append(f"                {flags}) return ;;")
    words = [flag for option in program.options for flag in option.flags if flag.startswith("--")]
    names = [name for names, _ in program.command_names for name in names]
    takes_files = bool(program.positionals) or program.words[0] == "atoll-lint"
    lines += ["            esac",
              f'            _atoll_reply "$cur" {" ".join(names + words)}']
    if takes_files:
        lines.append('            [[ $cur == -* ]] || { COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; }')
    return lines + ["            ;;"]


def bash_function(program, name):
    paths = {"/".join(one.words[1:]): one for one in each(program)}
    lines = [f"{function_name(program)}() {{", "    local cur prev path= word", "    _atoll_words"]
    if len(paths) > 1:
        lines += [f"    local paths=' {' '.join(path for path in paths if path)} '",
                  '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
                  '        [[ $paths == *" ${path:+$path/}$word "* ]] && path=${path:+$path/}$word',
                  "    done"]
    lines += ["    case $path in"]
    for path, one in paths.items():
        lines += bash_case(one, path)
    return lines + ["    esac", "}", f"complete -F {function_name(program)} {name}"]


def bash_tables(tables):
    lines = ["declare -gA _atoll_keys=("]
    lines += [f"    [{table.title.strip('[]')}]='{' '.join(key.name for key in table.keys)}'" for table in tables
              if "NAME" not in table.title and table.keys]
    lines += [")", "declare -gA _atoll_choices=("]
    for table in tables:
        lines += [f"    [{table.title.strip('[]')}.{key.name}]='{' '.join(key.choices)}'" for key in table.keys if key.choices]
    return lines + [")"]


def bash_atoll(programs):
    """`atoll WORD` goes on as the program atoll-WORD."""
    words = [name.removeprefix("atoll-") for name in programs if name.startswith("atoll-")]
    lines = ["_atoll_program() {", "    case ${COMP_WORDS[1]-} in"]
    lines += [f"        {word}) [[ $COMP_CWORD -gt 1 ]] && {{ {function_name(programs['atoll-' + word])}; return; }} ;;" for word in words]
    lines += ["    esac", "    _atoll",
              f'    [[ $COMP_CWORD -eq 1 && ${{COMP_WORDS[1]}} != -* ]] && _atoll_reply "${{COMP_WORDS[1]}}" {" ".join(words)}',
              "    return 0", "}", "complete -F _atoll_program atoll"]
    return lines


def bash_script(programs, tables):
    """One file for all programs."""
    lines = ["# Completion of atoll and the programs beside it, for bash.", *bash_tables(tables), BASH_SETTINGS, BASH_COMPLETE]
    for name, program in programs.items():
        lines += bash_function(program, name)
    return "\n".join(lines + bash_atoll(programs)) + "\n"


def zsh_quoted(text):
    return "'" + re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''") + "'"


def zsh_arguments(program):
    """The specifications of one command for _arguments."""
    specs = []
    for option in program.options:
        action = ""
        if option.value:
            what = zsh_quoted(option.value.strip("<>"))[1:-1]
            if choices_of(option):
                action = f":{what}:({' '.join(choices_of(option))})"
            elif option.value == "KEY=VALUE" and program.words[0] != "atoll-lint":
                action = f":{what}:_atoll_settings"
            else:
                action = f":{what}:_files" if takes_file(option) else f":{what}:"
        text = re.sub(r"([\[\]])", r"\\\1", option.text).replace("'", "'\\''")
        for flag in option.flags:
            repeated = "*" if option.is_repeated else ""
            equals = "=" if option.value and flag.startswith("--") else ""
            specs.append(f"'{repeated}{flag}{equals}[{text}]{action}'")
    if program.positionals:
        specs.append("'*:file:_files'")
    return specs


def zsh_function(program, name):
    lines = [f"{name}() {{"]
    if program.commands:
        lines += ["    local state line", "    _arguments -C \\"]
        lines += [f"        {spec} \\" for spec in zsh_arguments(program)]
        lines += ["        '1: :->command' '*:: :->rest'", "    case $state in", "        command)", "            local -a commands=("]
        lines += [f"                {zsh_quoted(one)[:-1]}:{zsh_quoted(text)[1:]}" for names, text in program.command_names for one in names]
        lines += ["            )", "            _describe command commands ;;", "        rest)", "            case ${line[1]} in"]
        for command, (names, _) in zip(program.commands, program.command_names):
            lines.append(f"                {'|'.join(names)}) {name}_{command.words[-1]} ;;")
        lines += ["            esac ;;", "    esac", "}"]
        for command in program.commands:
            lines += zsh_function(command, f"{name}_{command.words[-1]}")
    else:
        lines += ["    _arguments \\"] + [f"        {spec} \\" for spec in zsh_arguments(program)]
        lines[-1] = lines[-1].removesuffix(" \\")
        lines.append("}")
    return lines


ZSH_SETTINGS = r'''
_atoll_settings() {
    local -a found
    local file=/etc/atoll/atoll.toml begun=${(Q)PREFIX} key name use folder i
    for ((i = 1; i < $#words; ++i)); do [[ $words[i] == --manifest ]] && file=$words[i+1]; done
    local -A uses
    [[ -r $file ]] && uses=($(awk -F'[][."= ]+' '/^\[plugin\.[^].]+\]/ { name = $3 } /^use *=/ { print name, $2 }' $file))
    if [[ $begun == plugin.*.use=* ]]; then
        folder=${${commands[atoll]:A}:h:h}/lib/atoll/plugins
        for use in $folder/*/*.so(N); do found+=("${begun%%\=*}=${${use#$folder/}%.so}"); done
    elif [[ $begun == *=* ]]; then
        key=${begun%%\=*}
        name=$key
        [[ $key == plugin.* ]] && name=$uses[${${key#plugin.}%%.*}].${key##*.}
        for use in ${=_atoll_choices[$name]}; do found+=("$key=$use"); done
    else
        for key in ${=_atoll_keys[atoll]}; do found+=("atoll.$key="); done
        for key in ${=_atoll_keys[log]}; do found+=("log.$key="); done
        for name in ${(k)uses}; do
            for key in use enabled ${=_atoll_keys[$uses[$name]]}; do found+=("plugin.$name.$key="); done
        done
    fi
    compadd -Q -S '' -- $found
}
'''


def zsh_script(programs, tables):
    words = {name.removeprefix("atoll-"): program for name, program in programs.items() if name.startswith("atoll-")}
    tables_text = "\n".join(bash_tables(tables)).replace("declare -gA", "typeset -gA").replace("    [", "    '").replace("]='", "' '")
    lines = ["#compdef " + " ".join(programs), "# Completion of atoll and the programs beside it, for zsh.", tables_text, ZSH_SETTINGS]
    for name, program in programs.items():
        lines += zsh_function(program, "_of_" + re.sub(r"\W", "_", name))
    lines += ["_atoll_program() {", "    case ${words[2]} in"]
    for word, program in words.items():
        lines.append(f"        {word}) ((CURRENT > 2)) && {{ shift words; ((CURRENT--)); _of_{re.sub(chr(92) + 'W', '_', program.words[0])}; return }} ;;")
    lines += ["    esac", f"    ((CURRENT == 2)) && [[ $words[2] != -* ]] && compadd -- {' '.join(words)}", "    _of_atoll", "}"]
    lines += ["case $service in", "    atoll) _atoll_program ;;"]
    lines += [f"    {name}) _of_{re.sub(chr(92) + 'W', '_', name)} ;;" for name in programs if name != "atoll"]
    return "\n".join(lines + ["esac"]) + "\n"

# Prints what bash would complete a command line to, a word a line: complete.bash SCRIPT LINE
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
# Bash's own ends of words, COMP_WORDBREAKS: '=' and ':' are words of their own.
mapfile -t COMP_WORDS < <(grep -oE '[=:]+|[^[:space:]=:]+' <<<"$2")
[[ $2 == *[[:space:]=:] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "${COMP_WORDS[0]}") && function=${function#*-F } && function=${function%% *} || exit 1
"$function"
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
